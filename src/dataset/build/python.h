// Python helpers: fetching packages, token counts, figures, Parquet, the hub.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"

namespace kw::dataset {

struct PythonTools {
  std::string python;             // the interpreter
  std::filesystem::path scripts;  // kernelwright/_dataset of our package

  ParquetHelper parquet() const;
};

struct FetchedPackage {
  std::string name;
  std::string version;
  std::filesystem::path file;
};

// Downloads archives of packages into `folder` and runs none of their code. Prints progress on standard
// error.
Result<std::vector<FetchedPackage>> fetch_packages(const PythonTools& tools,
                                                   const std::vector<std::string>& names,
                                                   const std::string& form,
                                                   const std::filesystem::path& folder);

struct TokenCounts {
  std::string tokenizer;       // a description of the tokenizer
  std::filesystem::path file;  // one number a line, in the order of the rows
};

// Token counts of prompt and completion of each row of a JSON lines file. Without a tokenizer, trains one on
// the rows and writes it to `trained`.
Result<TokenCounts> count_tokens(const PythonTools& tools, const std::filesystem::path& rows,
                                 const std::filesystem::path& counts, const std::string& tokenizer,
                                 const std::filesystem::path& trained);

Result<> draw_figures(const PythonTools& tools, const std::filesystem::path& analysis,
                      const std::filesystem::path& folder);

// Converts rows with metadata to one Parquet file with the columns of all kinds.
Result<> write_parquet(const PythonTools& tools, const std::filesystem::path& rows,
                       const std::filesystem::path& out);

Result<> push_to_hub(const PythonTools& tools, const std::filesystem::path& folder, const std::string& repo,
                     bool is_private);

}  // namespace kw::dataset
