// Input formats: recognises the format of a path and opens its source.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "loop/tasks/source.h"

namespace kw {

enum class InputKind {
  traces,                // a JSON list or JSONL of recorded traces
  batch,                 // JSONL of references and kernels
  dataset,               // JSONL or Parquet: rows of a data set with PyTorch references
  kernelbench_table,     // JSONL or Parquet: tasks without kernels
  kernelbook,            // JSONL or Parquet
  kernelbench_checkout,  // a folder of tasks
  kernelbench_run,       // a folder of kernels
  kernelbench_kernels,   // a folder of kernels that are named like the problems; only with the tasks given
  pairs,                 // a folder of references and kernels; only if kernels are wanted
  tables,     // a folder of traces, batches, KernelBook rows; also KernelBench rows if tasks are wanted
  source,     // one .py, .md or .txt file: a reference, or half a pair
  references  // a folder of references alone; only if tasks are wanted
};

// Recognises a format by the first good row or by the file names of the folder. The error for an unknown file
// lists the formats that are expected. "-" is standard input.
Result<InputKind> recognise(const std::string& path, Wanted wanted, const ParquetHelper& helper);

// The files of a folder in the wanted formats, with their kinds, by name; other files are skipped.
std::vector<std::pair<std::string, InputKind>> tables_in(const std::string& folder, Wanted wanted,
                                                         const ParquetHelper& helper);

struct OpenOptions {
  ParquetHelper helper;
  std::string kernelbench = {};        // tasks for a run folder: a checkout or a table
  std::optional<InputKind> kind = {};  // set by a flag; empty: recognised
  Wanted wanted = Wanted::kernels;
};

// If the input lacks the kernels or tasks that are wanted, the error names the argument to add.
Result<SourcePtr> open_source(const std::string& path, const OpenOptions& options);

}  // namespace kw
