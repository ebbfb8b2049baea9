// What the loop depends on, as the user set it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "llm/chat.h"
#include "schema/enums.h"

namespace kw::refine {

// Whether a correct answer ends a conversation where speed cannot be measured.
enum class RequireSpeed { automatic, always };

enum class PromptStyle { wrapper, modelnew };

struct Settings {
  bool multi_turn = false;
  std::size_t max_turns = 4;  // of a conversation; 1 unless multi_turn
  double target_speedup = 1.0;
  Trust min_trust = Trust::in_process;  // whose speed-up is believed
  RequireSpeed require_speed = RequireSpeed::automatic;
  bool retry_failed = true;  // multi-turn: a second conversation, afresh, where all turns were wrong
  std::size_t requests_in_flight = 10;
  std::size_t samples_per_task = 1;
  PromptStyle style = PromptStyle::wrapper;
  std::string system_prompt;  // the text itself; empty: none is sent
  llm::Sampling sampling;
};

}  // namespace kw::refine
