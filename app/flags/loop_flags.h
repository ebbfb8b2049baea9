// How a conversation goes: turns, when to stop, what the model is told.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "refine/settings.h"

namespace kw {

struct LoopFlags {
  bool multi_turn = false;
  std::uint64_t max_turns = 4;
  double target_speedup = 1.0;
  refine::RequireSpeed require_speed = refine::RequireSpeed::automatic;
  bool retry_failed = true;
  std::uint64_t samples_per_task = 1;
  refine::PromptStyle style = refine::PromptStyle::wrapper;
  std::string system_prompt;  // a file; empty: ours

  void add(CLI::App& app);

  // Reads the system prompt's file.
  Result<refine::Settings> settings() const;
};

}  // namespace kw
