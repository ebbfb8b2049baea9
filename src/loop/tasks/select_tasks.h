// Selects the tasks for a model from several named inputs, among them data sets of the Hugging Face hub,
// which its Python library reads with its own cache and offline mode.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "loop/tasks/source.h"

namespace kw {

// Data sets of the Hugging Face hub, read by its Python library with its cache and offline mode.
struct HubRequest {
  std::string name;      // "kernelbook" or "kernelbench"
  std::string revision;  // a branch, tag or commit; empty: the newest
  std::set<int> levels;  // of KernelBench; empty: all
};

// The data set's Parquet files on this machine; downloads files that are not in the cache. An error names the
// files to copy and their place. Shows progress on standard error.
Result<std::vector<std::string>> hub_files(const HubRequest& request, const ParquetHelper& helper);

// "REVISION" of "hub@REVISION", empty for "hub", nothing for a path.
std::optional<std::string> hub_revision(std::string_view text);

// Selects the tasks for a model from several named inputs.
struct TaskSelection {
  std::vector<std::string> paths;  // their formats are recognised
  std::string kernelbook;          // a file or folder, "hub" or "hub@REVISION"; empty: not named
  std::string kernelbench;         // a checkout, folder or file, "hub" or "hub@REVISION"; empty: not named
  std::string traces;              // a file of recorded traces; empty: none
  std::uint64_t kernelbook_samples = 1500;   // 0 switches KernelBook off
  std::uint64_t kernelbench_samples = 1000;  // evenly over levels, as many as there are; 0 switches it off
  std::set<int> levels;                      // of KernelBench's tasks, wherever they come from; empty: all
  std::vector<std::string> sample_ids;       // only tasks with one of these as sample_key or task_id
  bool shuffle = false;
  std::optional<std::uint64_t> limit;
};

// Paths in their order, traces, KernelBook, KernelBench; each in its own order, unless shuffled by the seed.
// If nothing is named, KernelBook and KernelBench come from the hub, which may download them. A path to
// KernelBook or KernelBench is sampled like the argument of its flag. sample_ids are searched in complete
// tables, and an id without a task is a bad row at the end.
Result<SourcePtr> select_tasks(const TaskSelection& selection, std::uint64_t seed,
                               const ParquetHelper& helper);

}  // namespace kw
