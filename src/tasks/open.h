// From a path to a source of jobs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "table/row_reader.h"
#include "tasks/job_source.h"
#include "tasks/recognise.h"

namespace kw {

// Rows by the file's form: Parquet by its first bytes, a JSON list by its first character, else JSONL.
// `columns` names those of a Parquet file that are wanted; empty: all.
Result<std::unique_ptr<RowReader>> open_rows(const std::string& path, const ParquetHelper& helper,
                                             const std::string& columns = "");

struct OpenOptions {
  ParquetHelper helper;
  std::string kernelbench;        // tasks for a run folder: a checkout or a table
  std::optional<InputKind> kind;  // set by a flag that says it outright; else recognised
};

// Anything but a single source file and tasks without kernels, which are errors that say what to give with
// them.
Result<std::unique_ptr<JobSource>> open_source(const std::string& path, const OpenOptions& options);

}  // namespace kw
