// The tasks of a source, and files for it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "loop/tasks/select_tasks.h"
#include "support/home.h"
#include "support/world.h"
#include "types/trace.h"

namespace kw {

struct Yield {
  std::vector<Job> jobs;
  std::vector<RowError> errors;
  std::string broken;  // the error that ended the source early, or prevented its opening
  std::string remedy;

  std::vector<std::string> keys() const {
    std::vector<std::string> found;
    for (const Job& job : jobs) found.push_back(sample_key(job.task));
    return found;
  }
  std::vector<std::string> task_ids() const {
    std::vector<std::string> found;
    for (const Job& job : jobs) found.push_back(job.task.task_id);
    return found;
  }
  std::vector<std::size_t> numbers() const {
    std::vector<std::size_t> found;
    for (const Job& job : jobs) found.push_back(job.sample_number);
    return found;
  }
};

inline Yield drain(Source& source) {
  Yield yield;
  auto read = read_all(
      source, [&](Job job) { yield.jobs.push_back(std::move(job)); },
      [&](RowError error) { yield.errors.push_back(std::move(error)); });
  if (!read) yield.broken = read.error().what;
  return yield;
}

inline Yield drain(const Result<SourcePtr>& source) {
  if (source) return drain(**source);
  Yield yield;
  yield.broken = source.error().what;
  yield.remedy = source.error().remedy;
  return yield;
}

inline ParquetHelper test_helper() {
  return {test_python(), source_file("python/kernelwright/_dataset/parquet_rows.py")};
}

inline Yield tasks_of(const TaskSelection& selection, std::uint64_t seed = 0) {
  return drain(select_tasks(selection, seed, test_helper()));
}

inline Yield tasks_at(const std::string& path) {
  TaskSelection options;
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

// A folder in the form of a checkout, with so many problems a level.
inline void write_checkout(const Folder& folder, const std::vector<int>& sizes) {
  for (std::size_t level = 1; level <= sizes.size(); ++level)
    for (int problem = 1; problem <= sizes[level - 1]; ++problem)
      folder.write("KernelBench/level" + std::to_string(level) + "/" + std::to_string(problem) + "_Name.py",
                   "reference of " + std::to_string(level) + "/" + std::to_string(problem));
}

}  // namespace kw
