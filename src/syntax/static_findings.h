// What can be said of a candidate's source without running it. Strings and comments never count.
#pragma once

#include <cstddef>
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
  std::set<std::string> names;  // bound at the top level, also inside if, try, with, for and while
  bool open = false;            // more names may exist: star import, exec, globals()
  std::vector<StaticFinding> forbidden;
  std::vector<std::string> jitted;      // functions under a Triton decorator
  bool native_code = false;             // load_inline or cpp_extension: CUDA or C++ of its own
  std::vector<StaticFinding> findings;  // they explain, they never decide
};

StaticReport examine(std::string_view code);

// False only where the name can't exist after import.
bool may_define(const StaticReport& report, std::string_view name);

}  // namespace kw
