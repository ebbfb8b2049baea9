// Arenas of an oracle: what a candidate's process maps never holds what a reference left.
#pragma once

#include <cstdint>

namespace kw::verify {

inline constexpr std::uint32_t candidate_slot = 0;
inline constexpr std::uint32_t reference_slot = 1;

}  // namespace kw::verify
