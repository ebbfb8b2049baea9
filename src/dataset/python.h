// The helpers that are Python: fetching packages, tokens, figures, Parquet, the hub.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/row_reader.h"

namespace kw::dataset {

struct PythonTools {
  std::string python;             // the interpreter
  std::filesystem::path package;  // the folder kernelwright of our package

  ParquetHelper parquet() const;
};

struct FetchedPackage {
  std::string name;
  std::string version;
  std::filesystem::path file;
};

// Archives of packages, in `folder`; nothing of them is run. Progress is shown on standard error.
Result<std::vector<FetchedPackage>> fetch_packages(const PythonTools& tools,
                                                   const std::vector<std::string>& names,
                                                   const std::string& form,
                                                   const std::filesystem::path& folder);

struct TokenCounts {
  std::string tokenizer;       // what counted, in words
  std::filesystem::path file;  // one number a line, in the order of the rows
};

// Tokens of prompt and completion of each row of a JSON lines file. Without a tokenizer one is trained on the
// rows and written to `trained`.
Result<TokenCounts> count_tokens(const PythonTools& tools, const std::filesystem::path& rows,
                                 const std::filesystem::path& counts, const std::string& tokenizer,
                                 const std::filesystem::path& trained);

Result<> draw_figures(const PythonTools& tools, const std::filesystem::path& analysis,
                      const std::filesystem::path& folder);

// Rows with metadata → one Parquet file with the columns that all kinds share.
Result<> write_parquet(const PythonTools& tools, const std::filesystem::path& rows,
                       const std::filesystem::path& out);

Result<> push_to_hub(const PythonTools& tools, const std::filesystem::path& folder, const std::string& repo,
                     bool is_private);

}  // namespace kw::dataset
