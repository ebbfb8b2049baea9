// What is judged: recognised from the paths, or said outright.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/row_reader.h"
#include "tasks/job_source.h"

namespace kw {

struct InputFlags {
  std::vector<std::string> paths;
  std::string input_shapes;  // JSON text, read from a file where @FILE was given
  std::string entry_point;
  std::string kernel_name;
  std::string batch;
  std::string traces;
  std::string kernelbench;
  std::string kernelbench_run;
  std::string kernelbook;

  void add(CLI::App& app);

  bool is_empty() const {
    return paths.empty() && batch.empty() && traces.empty() && kernelbench.empty() &&
           kernelbench_run.empty() && kernelbook.empty();
  }
  // REFERENCE KERNEL: one object on standard output rather than lines.
  bool is_pair() const { return paths.size() == 2; }

  // The one thing that the flags name; an error where they name none or several.
  Result<std::unique_ptr<JobSource>> open(const ParquetHelper& helper) const;
};

// JSON text as given, or the contents of FILE for "@FILE".
Result<std::string> parse_input_shapes(const std::string& text);

}  // namespace kw
