// The plan that mock server, loop and peer share: the duration of every answer and every judgement.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace kw::bench {

struct PlannedTurn {
  double generation_ms = 0;
  double verification_ms = 0;
};

// A task ends with the first correct answer: its last planned turn, unless it has the maximum number of
// turns.
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

// Reads a plan that bench.py wrote.
Result<Plan> read_plan(const std::string& path);

}  // namespace kw::bench
