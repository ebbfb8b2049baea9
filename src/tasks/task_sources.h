// The concrete sources of tasks. open_tasks.h puts them together.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/task.h"
#include "table/row_reader.h"
#include "tasks/kernelbench.h"
#include "tasks/task_flow.h"

namespace kw {

// One task a row; a row that yields none, or an empty reference, is a bad row.
TaskSourcePtr row_tasks(std::unique_ptr<RowReader> rows, std::function<Result<Task>(const Row&)> to_task);

// KernelBook rows: python_code is the reference, triton_code is passed over. Several files come one after
// another, each opened when its turn comes.
Result<TaskSourcePtr> kernelbook_tasks(const std::vector<std::string>& files, const ParquetHelper& helper);

// What a path given as KernelBook stands for: itself, or the tables of a folder.
Result<std::vector<std::string>> kernelbook_files(const std::string& path);

// The tasks of recorded traces. One that several traces share comes as often, with sample numbers 0, 1, ...
Result<TaskSourcePtr> trace_tasks(const std::string& path, const ParquetHelper& helper);

// The tasks of a batch, whose rows need no kernels.
Result<TaskSourcePtr> batch_tasks(const std::string& path, const ParquetHelper& helper);

struct KernelBenchSample {
  std::size_t count = SIZE_MAX;  // evenly over the levels
  std::set<int> levels;          // empty: all
  bool at_random = false;        // else the first of each level
  std::uint64_t seed = 0;
};

// By level and problem. Bad rows of the table come first.
TaskSourcePtr kernelbench_tasks(KernelBenchTasks tasks, const KernelBenchSample& sample);

// One reference, NAME.py. Its inputs are its own get_inputs, or those of NAME.shapes.json beside it
// (PREFIXshapes.json for PREFIXreference.py).
Result<Task> read_reference(const std::string& path);

// The references in a folder and its direct subfolders, by path; other sources are passed over, and so are
// the kernels of PREFIXreference.py (PREFIXkernel*.py).
std::vector<std::string> reference_files(const std::string& folder);

// Those of reference_files; sample_key is the path within the folder, without its ending.
TaskSourcePtr reference_tasks(const std::string& folder);

}  // namespace kw
