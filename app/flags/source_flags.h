// Which tasks a model is asked, and in which order.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/row_reader.h"
#include "tasks/task_source.h"

namespace kw {

struct SourceFlags {
  std::vector<std::string> paths;
  std::string kernelbook;   // a file, a folder, "hub" or "hub@REVISION"
  std::string kernelbench;  // a checkout, a folder, a file, "hub" or "hub@REVISION"
  std::string traces;
  std::uint64_t kernelbook_samples = 1500;
  std::uint64_t kernelbench_samples = 1000;
  std::set<int> levels;  // empty: all
  bool shuffle = false;
  std::vector<std::string> sample_ids;
  std::optional<std::uint64_t> limit;

  void add(CLI::App& app);

  // The tasks that the flags name; KernelBook and KernelBench from the hub where they name none. The seed
  // decides what --shuffle does. May download.
  Result<std::unique_ptr<TaskSource>> open(const ParquetHelper& helper, std::uint64_t seed) const;
};

// "1,2,3": KernelBench's levels, 1 to 4.
Result<std::set<int>> parse_levels(const std::string& text);

}  // namespace kw
