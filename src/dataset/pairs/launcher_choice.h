// The function that launches a kernel, as a row shows it after the kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "dataset/units/unit.h"

namespace kw::pairs {

struct ShownLauncher {
  std::string imports;  // that the row does not have yet, a line each
  std::string text;     // assignments, signatures of functions that it calls, the function itself
};

// The launcher of the unit with all that it needs beside the row's code. Functions that it calls are shown by
// their signatures, because the split of the rows follows no code that a launcher needs; its decorators are
// shown where imports alone define them. Nothing where a name stays undefined or would mean two things, where
// the row shows the launcher already, or where all of it has more than `tokens`. Only of Python.
std::optional<ShownLauncher> shown_launcher(const corpus::Unit& unit, std::string_view row,
                                            std::size_t tokens);

}  // namespace kw::pairs
