// How long each step may take, whatever a candidate's own time is.
#pragma once

#include <chrono>

namespace kw::verify {

inline constexpr std::chrono::seconds prepare_limit{120};
inline constexpr std::chrono::seconds spawn_limit{30};
inline constexpr std::chrono::seconds load_limit{60};
inline constexpr std::chrono::seconds judge_limit{120};
inline constexpr std::chrono::seconds replay_load_limit{60};

}  // namespace kw::verify
