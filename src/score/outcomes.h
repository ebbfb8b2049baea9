// Outcomes: what became of each sample, and the samples of one task together. All measures begin here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schema/enums.h"
#include "schema/verdict.h"

namespace kw::score {

// right: correct, and nothing says that being right proves nothing. unknown: nobody could tell (skipped, or a
// fault of the task or of ours); such a sample is no sample in any measure, and is counted apart.
enum class Standing { right, wrong, unknown };

struct Outcome {
  std::string task_id;
  Standing standing = Standing::unknown;
  std::optional<double> speedup;  // of a right one, where an instrument measured it that is trusted enough
};

// The speed-up is taken where its instrument is trusted at least as much as `least`.
Outcome outcome_of(const Verdict& verdict, Trust least = Trust::in_process);

struct TaskSamples {
  std::string task_id;
  std::size_t samples = 0;  // right and wrong ones
  std::size_t right = 0;
  std::size_t unknown = 0;         // on top of `samples`
  std::vector<double> speedups;    // of right ones, finite and over 0
  std::size_t unknown_speeds = 0;  // right ones of which no speed is known
};

// One entry a task, by task_id.
std::vector<TaskSamples> by_task(const std::vector<Outcome>& outcomes);

}  // namespace kw::score
