// KernelBench: its tasks, as a checkout (level1/19_ReLU.py) or a table with columns code, level, name,
// problem_id; and run folders with their kernels. kernelbench_results.h has the results of a run.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "loop/tasks/source.h"
#include "types/job.h"

namespace kw {

// KernelBench: its tasks, as a checkout (level1/19_ReLU.py) or a table with columns code, level, name,
// problem_id; and run folders with kernels to them.
class KernelBenchTasks {
 public:
  using Key = std::pair<int, int>;  // level, problem id

  // A checkout's root, its folder KernelBench/, or one levelN folder itself.
  static Result<KernelBenchTasks> from_checkout(const std::string& folder);
  // JSONL or Parquet, one after another. Bad rows are collected in errors().
  static Result<KernelBenchTasks> from_tables(const std::vector<std::string>& paths,
                                              const ParquetHelper& helper);
  // A checkout, a folder of Parquet files (a copy of the hub's), a .jsonl or a .parquet file.
  static Result<KernelBenchTasks> open(const std::string& path, const ParquetHelper& helper);

  Result<Task> find(int level, int problem_id) const;
  // The problem to which a kernel belongs: its stem is the problem's name (19_ReLU), the name without its
  // number (ReLU), or begins with the number (19, 19_mine). The levels decide between several; no level: all.
  Result<Key> match(const std::string& stem, std::optional<int> level) const;
  std::vector<Key> keys() const;
  const std::vector<RowError>& errors() const { return errors_; }

 private:
  struct Entry {
    std::string path;  // in a checkout; find() reads the file
    Task task;
  };
  Result<> add_table(RowReader& rows);
  void scan_level(const std::string& folder, int level);

  std::string where_;
  std::map<Key, Entry> entries_;
  std::vector<RowError> errors_;
};

// Whether the folder looks like a checkout.
bool is_kernelbench_checkout(const std::string& folder);

struct KernelBenchSample {
  std::size_t count = SIZE_MAX;  // evenly over the levels
  std::set<int> levels;          // empty: all
  bool at_random = false;        // else the first of each level
  std::uint64_t seed = 0;
};

// The tasks alone, by level and problem. Bad rows of the table come first.
SourcePtr kernelbench_tasks(KernelBenchTasks tasks, const KernelBenchSample& sample);

// One kernel of a run folder: level_L_problem_P_sample_S_kernel.py.
struct RunKernel {
  int level = 0;
  int problem_id = 0;
  int sample_id = 0;
  std::string path;
  auto operator<=>(const RunKernel&) const = default;
};

// "level_1_problem_19_sample_0"; the kernel's file adds "_kernel.py".
std::string run_kernel_name(int level, int problem_id, int sample_id);

// The numbers in a kernel's file name; empty for other names.
std::optional<RunKernel> run_kernel_of(const std::string& path);

// The folder that holds the kernels: the one given, or the only run in it.
Result<std::string> find_run_folder(const std::string& folder);

// The kernels of a run folder, by level, problem and sample, with their tasks.
Result<SourcePtr> kernelbench_run(const std::string& folder, KernelBenchTasks tasks);

// A folder of kernels that are named like problems: 19_ReLU.py (or .md, .txt), also in folders levelN.
bool holds_problem_kernels(const std::string& folder);

// Those kernels with their tasks, by path. A kernel that belongs to no problem, or to several, is a bad row.
SourcePtr kernelbench_kernels(const std::string& folder, KernelBenchTasks tasks);

}  // namespace kw
