// Whether two functions can be called alike, so that one may stand in the other's place.
#pragma once

#include <string>
#include <string_view>

namespace kw::pairs {

// Why the launcher of a rewrite cannot be called as the PyTorch function is, or answers another thing; empty
// where no reason is seen. Both are texts of one function; a class has no reason.
std::string call_difference(std::string_view reference, std::string_view launcher);

// Whether the kernel limits values by a number and the reference limits nothing.
bool clamps_alone(std::string_view reference, std::string_view kernel);

}  // namespace kw::pairs
