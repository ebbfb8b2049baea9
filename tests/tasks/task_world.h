// What a source of tasks yields, and files to read it from.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "schema/trace.h"
#include "tasks/open_tasks.h"
#include "unit/home.h"
#include "unit/world.h"

namespace kw {

struct TaskYield {
  std::vector<TaskItem> items;
  std::vector<RowError> errors;
  std::string broken;  // what ended the source before its end, or kept it from opening
  std::string remedy;

  std::vector<std::string> keys() const {
    std::vector<std::string> found;
    for (const TaskItem& item : items) found.push_back(sample_key(item.task));
    return found;
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> found;
    for (const TaskItem& item : items) found.push_back(item.task.task_id);
    return found;
  }
  std::vector<std::size_t> numbers() const {
    std::vector<std::size_t> found;
    for (const TaskItem& item : items) found.push_back(item.sample_number);
    return found;
  }
};

inline TaskYield drain_tasks(TaskSource& source) {
  TaskYield yield;
  while (true) {
    auto next = source.next();
    if (!next) {
      yield.broken = next.error().what;
      return yield;
    }
    if (!*next) return yield;
    if (auto* item = std::get_if<TaskItem>(&**next))
      yield.items.push_back(std::move(*item));
    else
      yield.errors.push_back(std::get<RowError>(**next));
  }
}

inline TaskYield drain_tasks(Result<TaskSourcePtr> source) {
  if (source) return drain_tasks(**source);
  TaskYield yield;
  yield.broken = source.error().what;
  yield.remedy = source.error().remedy;
  return yield;
}

inline ParquetHelper test_helper() {
  return {test_python(), source_file("python/kernelwright/parquet_rows.py")};
}

inline TaskYield tasks_of(const SourceOptions& options) {
  return drain_tasks(open_tasks(options, test_helper()));
}

inline TaskYield tasks_at(const std::string& path) {
  SourceOptions options;
  options.paths = {path};
  return tasks_of(options);
}

// `count` rows of KernelBook as JSON lines, with uuids from 0.
inline std::string kernelbook_rows(int count) {
  std::string text;
  for (int row = 0; row < count; ++row) {
    std::string number = std::to_string(row);
    text += R"({"python_code":"p)" + number + R"(","triton_code":"t","uuid":)" + number + "}\n";
  }
  return text;
}

// A checkout's folder with as many problems a level.
inline void write_checkout(const Folder& folder, const std::vector<int>& sizes) {
  for (std::size_t level = 1; level <= sizes.size(); ++level)
    for (int problem = 1; problem <= sizes[level - 1]; ++problem)
      folder.write("KernelBench/level" + std::to_string(level) + "/" + std::to_string(problem) + "_Name.py",
                   "reference of " + std::to_string(level) + "/" + std::to_string(problem));
}

}  // namespace kw
