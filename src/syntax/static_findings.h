// What can be said of a candidate's source without running it. Strings and comments never count.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct StaticFinding {
  std::string what;
  std::size_t line = 0;  // from 1; 0: the whole source
};

struct StaticReport {
  bool has_error = false;       // only a hint: Python's own compile decides what a syntax error is
  std::size_t error_line = 0;   // where the first error lies, as far as that can be said; 0: nowhere
  std::set<std::string> names;  // bound at the top level, also inside if, try, with, for and while
  bool open = false;            // more names may exist: star import, exec, globals()
  std::vector<StaticFinding> forbidden;
  std::vector<std::string> jitted;      // functions under a Triton decorator
  bool native_code = false;             // load_inline or cpp_extension: CUDA or C++ of its own
  std::vector<StaticFinding> findings;  // they explain, they never decide
  // PyTorch operations on values of a kernel's own, where nothing keeps them from being compiled: Triton's
  // compiler is sure to refuse them.
  std::vector<StaticFinding> torch_on_values;
};

StaticReport examine(std::string_view code);

// False only where the name can't exist after import.
bool may_define(const StaticReport& report, std::string_view name);

// False only where there can be none of the entries that are looked for: ModelNew, triton_kernel_wrapper, the
// reference's own name with New after it (any such name, since the reference's may not be known yet).
bool may_have_entry(const StaticReport& report);

// A bracket or a triple-quoted string that no line closes, or a bracket that closes nothing: what an answer
// that was cut short looks like. Trustworthy only where has_error is set as well.
std::optional<StaticFinding> find_unbalanced(std::string_view code);

}  // namespace kw
