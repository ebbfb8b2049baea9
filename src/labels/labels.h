// What a kernel does, and whether it compiles.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "corpus/row.h"
#include "corpus/unit.h"

namespace kw::labels {

// From the text alone: masked loads, boundary checks, shared memory, atomics, autotune, self-contained, clear
// shapes.
corpus::Labels read_labels(const corpus::Unit& unit);

struct CompileOptions {
  std::string python;                    // with Triton
  std::vector<std::string> python_path;  // where our package lies
  std::string native;                    // where libkwconfine.so lies
  std::vector<unsigned> targets = {80, 90};
  unsigned jobs = 2;
  unsigned longest_s = 40;  // of processor time, a kernel
  bool allow_unsandboxed = false;
  std::string nvcc;             // empty: looked for; CUDA is not tried without one
  std::filesystem::path cache;  // answers by content, so that no kernel is compiled twice; empty: none
  std::function<void(std::size_t done, std::size_t of)> progress;
  std::function<bool()> stop;
};

// compile, compile_reason and compiled_for of each unit's labels; the same length and order as `units`.
Result<std::vector<corpus::Labels>> compile_labels(const std::vector<corpus::Unit>& units,
                                                   const CompileOptions& options);

}  // namespace kw::labels
