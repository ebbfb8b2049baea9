// KernelBench's tasks: a checkout (level1/19_ReLU.py), or a table with columns code, level, name, problem_id.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "schema/task.h"
#include "table/row_reader.h"

namespace kw {

class KernelBenchTasks {
 public:
  using Key = std::pair<int, int>;  // level, problem id

  // A checkout's root, its folder KernelBench/, or one levelN folder itself.
  static Result<KernelBenchTasks> from_checkout(const std::string& folder);
  // JSONL or Parquet, one after another. Bad rows are left in errors().
  static Result<KernelBenchTasks> from_tables(const std::vector<std::string>& paths,
                                              const ParquetHelper& helper);
  // A checkout, a folder of Parquet files (a copy of the hub's), a .jsonl or a .parquet file.
  static Result<KernelBenchTasks> open(const std::string& path, const ParquetHelper& helper);

  Result<Task> find(int level, int problem_id) const;
  std::vector<Key> keys() const;
  const std::vector<RowError>& errors() const { return errors_; }

 private:
  struct Entry {
    std::string path;  // of a checkout: read when asked for
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

// N of "levelN", where the name is of that form.
std::optional<int> level_of(const std::string& folder_name);

}  // namespace kw
