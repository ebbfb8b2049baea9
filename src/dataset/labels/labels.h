// Labels of kernels: features of the source, and the result of compilation.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "dataset/units/code_words.h"
#include "dataset/units/row.h"
#include "dataset/units/unit.h"

namespace kw::labels {

// From the text alone: masked loads, boundary checks, shared memory, atomics, autotune, self-contained, clear
// shapes.
corpus::Labels read_labels(const corpus::Unit& unit);

// Whether the compile label says that the kernel uses a name which Triton's language does not have, whatever
// its arguments are.
bool lacks_language_name(const corpus::Labels& labels);

struct CompileOptions {
  std::string python;                    // with Triton
  std::vector<std::string> python_path;  // where our package lies
  std::string native;                    // where libkwsandbox.so lies
  std::vector<unsigned> targets = {80, 86, 90};
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

using corpus::Syntax;
using corpus::without_words;

// Whether the text contains the identifier as a complete word.
bool has_word(std::string_view code, std::string_view word);

// The arguments of each call of `.NAME(`, split at the commas of their own level; `code` without words.
std::vector<std::vector<std::string_view>> calls_of(std::string_view code, std::string_view name);

}  // namespace kw::labels
