// `dataset export`: rows of a build, or of any file of rows, in another form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/python.h"
#include "table/rows.h"

namespace kw::dataset {

struct ExportSettings {
  std::string source;               // the folder of a build, or a file of rows
  std::filesystem::path out;        // .csv, .jsonl or .parquet
  std::vector<std::string> kinds;   // of a build; empty: all that are there
  std::string split;                // empty: both
  std::vector<std::string> labels;  // all must be true: "compilable", "self_contained", ...
  bool metadata = false;            // every column, not just the two
  bool messages = false;
  bool without_flags = false;  // rows with an empty list of leaks
  table::ReadOptions read;
  std::filesystem::path spill;
  PythonTools python;
};

struct ExportTally {
  std::uint64_t rows = 0;
  std::uint64_t written = 0;
  std::uint64_t bad_rows = 0;
};

// Asking a file without metadata for a split or a label is an error.
Result<ExportTally> export_rows(const ExportSettings& settings);

}  // namespace kw::dataset
