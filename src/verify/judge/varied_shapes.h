// Tries a right candidate at shapes unlike those of its task: a kernel may be right at multiples of its block
// and nowhere else. docs/varied_inputs.md states the rule.
#pragma once

#include <string>
#include <vector>

#include "types/generality.h"
#include "verify/judge/context.h"
#include "verify/judge/live_calls.h"

namespace kw::verify {

// The versions of a task, in the order in which they are tried.
inline constexpr const char* other_shapes[] = {"prime", "larger", "more_rows", "one", empty_shape};

// The largest size of a version's inputs and weights together, for a task with this call.
std::uint64_t most_bytes(const Settings& settings, const wire::CallSpecT& spec);

// The last part of an attempt: the oracle has no arena of the task itself afterwards. Each version of the
// task is judged by live calls in fresh processes, on a GPU too.
class VariedShapes {
 public:
  VariedShapes(Case of, OracleSide& oracle, LiveCalls& calls, wire::Weights weights)
      : case_(of), oracle_(oracle), calls_(calls), weights_(weights) {}

  // An error only if the attempt was stopped: the result at the task's own shapes stands, whatever happens
  // here.
  async::Task<Outcome<std::vector<FamilyTrial>>> run();

 private:
  async::Task<Outcome<FamilyTrial>> judge_version(const std::string& version);
  async::Task<Outcome<FamilyAnswer>> ask();
  async::Task<Outcome<>> start();

  Case case_;
  OracleSide& oracle_;
  LiveCalls& calls_;
  wire::Weights weights_;
};

}  // namespace kw::verify
