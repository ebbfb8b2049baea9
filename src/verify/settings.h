// What a verdict depends on, as the user set it.
#pragma once

#include "schema/settings.h"

namespace kw::verify {

using Tolerance = ToleranceOption;
using Settings = kw::Settings;
using Device = kw::Device;

// CPU path: what the interpreter is asked to do at most (cpu_path.md: a program costs 0.4 to 0.7 ms).
inline constexpr std::uint64_t cpu_max_bytes = std::uint64_t{24} << 20;
inline constexpr double cpu_call_budget_ms = 6'000;
inline constexpr double cpu_program_ms = 0.6;

}  // namespace kw::verify
