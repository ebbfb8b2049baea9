// Outcomes: the result of each sample, grouped by task, and the metrics of one set of outcomes: pass@k,
// fast_p and speed-up.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/core/words.h"
#include "score/metrics/intervals.h"
#include "types/enums.h"
#include "types/verdict.h"

namespace kw::score {

// right: correct and counting. unknown: not judged (skipped, or a fault of the task or the infrastructure);
// such a sample is excluded from all metrics and counted separately.
BOOST_DEFINE_ENUM_CLASS(Standing, right, wrong, unknown)

struct Outcome {
  std::string task_id;
  Standing standing = Standing::unknown;
  std::optional<double> speedup;  // of a right one, if measured by a sufficiently trusted instrument
};

// Uses the speed-up if it has at least the trust `least`.
Outcome outcome_of(const Verdict& verdict, Trust least = Trust::in_process);

struct TaskSamples {
  std::string task_id;
  std::size_t samples = 0;  // right and wrong ones
  std::size_t right = 0;
  std::size_t unknown = 0;         // in addition to `samples`
  std::vector<double> speedups;    // of right ones, finite and over 0
  std::size_t unknown_speeds = 0;  // right ones without known speed
};

// One entry per task, by task_id.
std::vector<TaskSamples> by_task(const std::vector<Outcome>& outcomes);

// Of one task with n samples, c of them right: 1 - C(n-c, k) / C(n, k), without bias (Chen et al. 2021,
// "Evaluating Large Language Models Trained on Code", arXiv:2107.03374, equation 1). Computed as
// 1 - Π (1 - k/i) for i from n-c+1 to n, so that nothing overflows. Empty if k is 0, n < k, or c > n.
std::optional<double> pass_at_k(std::size_t n, std::size_t c, std::size_t k);

struct PassAtK {
  std::size_t k = 0;
  Estimate estimate;                 // the mean over tasks for which it is defined
  std::vector<std::string> too_few;  // tasks with fewer than k samples, for which it is not defined
};

PassAtK pass_at_k(const std::vector<TaskSamples>& tasks, std::size_t k, const Bootstrap& bootstrap = {});

// Every k that at least half of the judged tasks have samples for, but beyond 32 only 64, 128 and so on, and
// the largest. {1} without judged tasks.
std::vector<std::size_t> usual_k(const std::vector<TaskSamples>& tasks);

// fast_p = 1/N Σ [right and speedup > p], strictly (Ouyang et al. 2025, KernelBench, arXiv:2502.10517,
// section 3.3). A task with several samples enters with the share of its samples. fast_0 is the share that is
// right at any speed. Right answers of unknown speed may be faster than p or not: `at_least` counts none of
// these as faster, `at_most` all, and `share` exists only if both are equal.
struct FastPoint {
  double p = 0;
  Estimate at_least;
  Estimate at_most;
  Estimate share;  // without value if unknown speeds affect it
  std::size_t faster = 0;
  std::size_t unknown_speeds = 0;  // right samples without known speed; 0 at p = 0
  std::size_t samples = 0;
};

struct FastCurve {
  std::vector<FastPoint> points;
  std::size_t tasks = 0;             // with at least one sample that was judged
  std::size_t tasks_not_judged = 0;  // without one: excluded from all shares
  std::size_t samples_not_judged = 0;
};

inline const std::vector<double> usual_p = {0, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10};

// Each p must be finite and at least 0; others are omitted.
FastCurve fast_p(const std::vector<TaskSamples>& tasks, const std::vector<double>& p = usual_p,
                 const Bootstrap& bootstrap = {});

// Over tasks with right answers of known speed, each with the geometric mean of its speed-ups. Wrong answers
// have no speed, so always report the metric with the number of its tasks.
Estimate geometric_mean_speedup(const std::vector<TaskSamples>& tasks, const Bootstrap& bootstrap = {});

}  // namespace kw::score
