// The plan that mock server, our loop and the peer share: how long every answer and every judgement takes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::bench {

struct PlannedTurn {
  double generation_ms = 0;
  double verification_ms = 0;
};

// A task ends with the first correct answer: its last planned turn, unless it has as many as are allowed.
struct PlannedTask {
  std::vector<PlannedTurn> turns;
  bool solved = true;
};

struct Plan {
  std::map<std::string, PlannedTask> tasks;
  std::size_t reasoning_bytes = 0;  // of an answer
  std::size_t content_bytes = 0;
  std::size_t pieces = 1;  // in which an answer is streamed
  std::size_t max_turns = 4;
  std::size_t verifications = 1;  // at once
};

// What plan.py wrote.
Result<Plan> read_plan(const std::string& path);

}  // namespace kw::bench
