// The concrete sources of jobs. open.h picks one; verify's flags name one outright.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/row_reader.h"
#include "tasks/job_source.h"
#include "tasks/kernelbench.h"

namespace kw {

// Rows of id, reference_code or reference_path, kernel_code or kernel_path or full_completion, and optionally
// input_shapes, entry_point, kernel_name, task_id, source, level, name, problem_id. Paths are relative to the
// file.
std::unique_ptr<JobSource> batch_source(std::unique_ptr<RowReader> rows);

// Recorded traces, single- or multi-turn: one job a completion.
std::unique_ptr<JobSource> trace_source(std::unique_ptr<RowReader> rows);

// KernelBook rows: python_code is the reference, triton_code the candidate.
std::unique_ptr<JobSource> kernelbook_source(std::unique_ptr<RowReader> rows);

// The kernels of a KernelBench run folder, on the tasks of a checkout or table.
Result<std::unique_ptr<JobSource>> kernelbench_run_source(const std::string& run_folder,
                                                          KernelBenchTasks tasks);

// What a pair's flags say beside its two files.
struct PairOptions {
  std::string input_shapes;
  std::string entry_point;
  std::string kernel_name;
};

// KERNEL is code, or a completion (.md, .txt).
Result<Job> read_pair(const std::string& reference, const std::string& kernel, const PairOptions& options);

// A folder of pairs: PREFIXreference.py, PREFIXkernel*.py (or .md, .txt), optionally PREFIXshapes.json, where
// PREFIX may be empty; also in its direct subfolders.
Result<std::unique_ptr<JobSource>> pair_folder_source(const std::string& folder);

// Jobs that are there already.
std::unique_ptr<JobSource> list_source(std::vector<JobOrError> jobs);

}  // namespace kw
