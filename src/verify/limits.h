// How long each step may take, whatever a candidate's own time is.
#pragma once

#include <chrono>
#include <cstdint>

namespace kw::verify {

inline constexpr std::chrono::seconds prepare_limit{120};
inline constexpr std::chrono::seconds spawn_limit{30};
inline constexpr std::chrono::seconds load_limit{60};
inline constexpr std::chrono::seconds judge_limit{120};
inline constexpr std::chrono::seconds replay_load_limit{60};

// Where the inputs of a recorded call lie, in the runner and in the replayer: a hint that drivers honour.
inline constexpr std::uint64_t replay_arena_address = 0x500000000000ULL;

}  // namespace kw::verify
