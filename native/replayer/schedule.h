// What is enqueued where, in which order: a recording's plan under one of the orders of a Replay.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "recording/plan.h"
#include "wire/message.h"

namespace kw::replayer {

struct Turn {
  std::size_t step = 0;
  std::size_t operation = 0;
  std::size_t stream = 0;
  std::vector<std::size_t> after;  // steps whose events it waits for
  bool signals = false;            // records its event, since another step waits for it
  bool left_out = false;           // keeps its place in the order and does nothing
};

struct Schedule {
  std::vector<Turn> turns;
  std::vector<Turn> late;            // only after the outputs were taken
  std::vector<std::size_t> streams;  // those in use, [0] apart
};

// `left_out`: operations.
Schedule schedule(const recording::Plan& plan, wire::Order order, const std::set<std::size_t>& left_out);

}  // namespace kw::replayer
