// Static findings on a candidate's source, which ignore strings and comments; and known properties of
// PyTorch's functions by their full names.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kw::syntax {

// Whether a call of this name ("torch.no_grad", "torch.empty_like") allocates, queries or sets state, and
// computes no tensor from others.
bool computes_nothing(std::string_view path);

}  // namespace kw::syntax

namespace kw {

// Static findings on a candidate's source. They ignore strings and comments.
struct StaticFinding {
  std::string what;
  std::size_t line = 0;  // from 1; 0: the whole source
};

struct StaticReport {
  bool has_error = false;       // only a hint: Python's compile() decides about syntax errors
  std::size_t error_line = 0;   // of the first error, if known; 0: none
  std::set<std::string> names;  // bound at the top level, also inside if, try, with, for and while
  bool open = false;            // more names may exist: star import, exec, globals()
  std::vector<StaticFinding> forbidden;
  std::vector<std::string> jitted;  // functions under a Triton decorator
  // It passes CUDA or C++ sources to load_inline or another builder of PyTorch's, or may do so.
  bool native_code = false;
  std::vector<StaticFinding> findings;  // explanations only, never a reason for a verdict
  // PyTorch operations on a kernel's own values in code that is certainly compiled: Triton's compiler
  // refuses them.
  std::vector<StaticFinding> torch_on_values;
};

StaticReport examine(std::string_view code);

// Calls of PyTorch outside of jitted functions that may compute, by their names in the source: "F.softmax".
std::vector<StaticFinding> torch_calls(std::string_view code);

// False only if the name cannot exist after import.
bool may_define(const StaticReport& report, std::string_view name);

// False only if none of the possible entries can exist: ModelNew, triton_kernel_wrapper, or the reference's
// name followed by New (any such name, since the reference's may be unknown).
bool may_have_entry(const StaticReport& report);

// An unclosed bracket or triple-quoted string, or a bracket that closes nothing: typical of a truncated
// answer. Reliable only if has_error is also set.
std::optional<StaticFinding> find_unbalanced(std::string_view code);

}  // namespace kw
