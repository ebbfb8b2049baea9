// Rows of files into one new file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/python.h"
#include "dataset/row_files.h"

namespace kw::dataset {

struct CopyTarget {
  std::filesystem::path out;    // .csv, .jsonl, .json or .parquet
  std::filesystem::path spill;  // a folder of ours
  PythonTools python;
  std::string prompt = "prompt";  // names of the two columns
  std::string completion = "completion";
  std::vector<std::string> columns = {};  // to write; empty: those of the first file
  bool messages = false;  // "messages" in place of the two: what the user says and what is answered
};

// The rows that `next` names, in that order. Where a row's file has the target's form and, for CSV, the same
// columns as the first file, the row is copied as it stands; else its columns are written anew.
Result<> copy_rows(const RowFiles& files, const std::function<std::optional<std::uint32_t>()>& next,
                   const CopyTarget& target);

}  // namespace kw::dataset
