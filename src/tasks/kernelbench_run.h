// A KernelBench run folder: level_L_problem_P_sample_S_kernel.py.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

struct RunKernel {
  int level = 0;
  int problem_id = 0;
  int sample_id = 0;
  std::string path;
  auto operator<=>(const RunKernel&) const = default;
};

// The numbers in a kernel's file name, where it is of that form.
std::optional<RunKernel> run_kernel_of(const std::string& path);

// Sorted by level, problem and sample. A folder runs/ with one run in it stands for that run.
Result<std::vector<RunKernel>> list_run(const std::string& folder);

// The folder that holds the kernels: the one given, or the only run in it.
Result<std::string> find_run_folder(const std::string& folder);

}  // namespace kw
