// Standard input as a file, for the path "-".
#pragma once

#include <string>
#include <string_view>

#include "base/core/result.h"

namespace kw {

constexpr bool is_standard_input(std::string_view path) {
  return path == "-";
}

// The path of a copy of standard input in memory, which can be opened and read any number of times. The first
// call reads standard input to its end.
Result<std::string> standard_input();

// A path in words: "standard input" for "-" and for the copy.
std::string shown_path(std::string_view path);
// An error of a reader that knew the path of the copy alone.
Error about_standard_input(Error error, std::string_view copy);

}  // namespace kw
