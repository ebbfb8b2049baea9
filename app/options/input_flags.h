// Flags of the input: paths whose format is recognised, flags that name the format, and the tasks that a
// model is asked, with their order.
#pragma once

#include <CLI/CLI.hpp>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "loop/tasks/formats.h"
#include "loop/tasks/select_tasks.h"
#include "loop/tasks/source.h"

namespace kw {

// Flags of the tasks for a model, and of their order.
struct SourceFlags : TaskSelection {
  void add(CLI::App& app);
};

// "1,2,3": KernelBench's levels, 1 to 4.
Result<std::set<int>> parse_levels(const std::string& text);

// Why the input cannot be opened.
struct InputError : Error {
  bool is_usage = false;  // other words are needed, not other files
};

// Flags of the input: paths whose format is recognised, or flags that name the format.
struct InputFlags {
  std::vector<std::string> paths;
  std::string input_shapes;  // JSON text, read from a file for @FILE
  std::string entry_point;
  std::string kernel_entry;
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
  // REFERENCE KERNEL: the output is one object instead of lines.
  bool is_pair() const { return paths.size() == 2; }

  // The source that the flags name; an error if they name none or several.
  std::expected<SourcePtr, InputError> open(const ParquetHelper& helper) const;

 private:
  std::expected<SourcePtr, InputError> open_pair() const;
  Result<> check() const;
  std::vector<std::pair<std::string, std::optional<InputKind>>> named() const;
};

// JSON text as given, or the contents of FILE for "@FILE".
Result<std::string> parse_input_shapes(const std::string& text);

}  // namespace kw
