// Settings of the loop.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "loop/model_client/chat.h"
#include "types/enums.h"

namespace kw::refine {

// Whether a correct answer ends a conversation if speed cannot be measured.
BOOST_DEFINE_ENUM_CLASS(RequireSpeed, auto_, always)

BOOST_DEFINE_ENUM_CLASS(PromptStyle, wrapper, modelnew)

struct Settings {
  bool multi_turn = false;
  std::size_t max_turns = 4;  // of a conversation; 1 unless multi_turn
  double target_speedup = 1.0;
  Trust min_trust = Trust::replay;  // the least trust of a speed-up that is accepted
  RequireSpeed require_speed = RequireSpeed::auto_;
  bool retry_failed = true;  // multi-turn: a second, new conversation if all turns were wrong
  std::size_t requests_in_flight = 10;
  std::size_t samples_per_task = 1;
  std::size_t check_threads = 2;  // for the checks before verification; 0: the loop's own thread
  PromptStyle style = PromptStyle::wrapper;
  bool gradients = false;     // gradients are judged, so the prompt asks for them
  std::string system_prompt;  // the text itself; empty: none is sent
  llm::Sampling sampling;
  std::string program_version;  // in the verdicts that the loop gives without the verifier
};

}  // namespace kw::refine
