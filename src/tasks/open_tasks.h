// From what was named to one source of tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/row_reader.h"
#include "tasks/task_flow.h"

namespace kw {

struct SourceOptions {
  std::vector<std::string> paths;  // recognised
  std::string kernelbook;          // a file or folder, "hub" or "hub@REVISION"; empty: not named
  std::string kernelbench;         // a checkout, folder or file, "hub" or "hub@REVISION"; empty: not named
  std::string traces;              // a file of recorded traces; empty: none
  std::size_t kernelbook_samples = 1500;   // 0 switches KernelBook off
  std::size_t kernelbench_samples = 1000;  // evenly over levels, as many as there are; 0 switches it off
  std::set<int> levels;                    // of KernelBench's tasks, wherever they come from; empty: all
  std::vector<std::string> sample_ids;     // only tasks with one of these as sample_key or task_id
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::optional<std::size_t> limit;
};

// Paths in their order, traces, KernelBook, KernelBench; each in its own order, unless shuffled. Where
// nothing is named, KernelBook and KernelBench come from the hub. A KernelBook or KernelBench path is sampled
// like the flag's. Where sample_ids are given, whole tables are searched, and an id that is nowhere is a bad
// row at the end.
Result<TaskSourcePtr> open_tasks(const SourceOptions& options, const ParquetHelper& helper);

}  // namespace kw
