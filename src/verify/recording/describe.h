// Describes parts of a recording in one line each, for shown().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "verify/recording/recording.h"

namespace kw::recording {

// "1.5 MiB"
std::string in_units(std::uint64_t bytes);

// An untrusted name: on one line, control characters replaced, cut if it is too long.
std::string readable(std::string_view name);

// "stream 1  launch add of cubin 0, grid 4 x 1 x 1, block 128 x 1 x 1, 24 bytes of parameters"
std::string described(const Operation& operation);

}  // namespace kw::recording
