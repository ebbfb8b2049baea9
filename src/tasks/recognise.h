// What is it that a path names?
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "table/row_reader.h"

namespace kw {

enum class InputKind {
  traces,                // a JSON list or JSONL of recorded traces
  batch,                 // JSONL of references and kernels
  kernelbench_table,     // JSONL or Parquet: tasks without kernels
  kernelbook,            // JSONL or Parquet
  kernelbench_checkout,  // a folder of tasks
  kernelbench_run,       // a folder of kernels
  pairs,                 // a folder of references and kernels
  tables,                // a folder of traces, batches and KernelBook rows
  source,                // one .py, .md or .txt file: half a pair
  references             // a folder of references alone; only where tasks are looked for
};

std::string_view to_string(InputKind kind);

// The files of a folder that hold jobs, by name; other files are passed over.
std::vector<std::string> tables_in(const std::string& folder, const ParquetHelper& helper);

// By the first row or the folder's file names; a foreign file gets an error that says what is expected.
Result<InputKind> recognise(const std::string& path, const ParquetHelper& helper);

// As recognise, where tasks alone are wanted: kernels need not be there, and where they are they are passed
// over.
Result<InputKind> recognise_tasks(const std::string& path, const ParquetHelper& helper);

// The files of a folder that hold tasks, with their kinds, by name.
std::vector<std::pair<std::string, InputKind>> task_tables_in(const std::string& folder,
                                                              const ParquetHelper& helper);

}  // namespace kw
