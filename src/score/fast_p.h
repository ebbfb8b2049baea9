// fast_p: the share of tasks whose answer is right and more than p times faster.
#pragma once

#include <cstddef>
#include <vector>

#include "score/intervals.h"
#include "score/outcomes.h"

namespace kw::score {

// fast_p = 1/N Σ [right and speedup > p], strictly (Ouyang et al. 2025, KernelBench, arXiv:2502.10517,
// section 3.3). A task with several samples enters with the share of its samples. fast_0 is the share that is
// right, whatever its speed. Where the speed of a right answer is unknown, nobody can say on which side of p
// it lies: `at_least` takes none of these for faster, `at_most` all, and `share` exists only where both
// agree.
struct FastPoint {
  double p = 0;
  Estimate at_least;
  Estimate at_most;
  Estimate share;  // without value where speeds are unknown that would matter
  std::size_t faster = 0;
  std::size_t unknown_speeds = 0;  // right samples of which no speed is known; 0 at p = 0
  std::size_t samples = 0;
};

struct FastCurve {
  std::vector<FastPoint> points;
  std::size_t tasks = 0;             // with at least one sample that was judged
  std::size_t tasks_not_judged = 0;  // without: they are in no share
  std::size_t samples_not_judged = 0;
};

inline const std::vector<double> usual_p = {0, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10};

// Every p must be finite and at least 0; others are left out.
FastCurve fast_p(const std::vector<TaskSamples>& tasks, const std::vector<double>& p = usual_p,
                 const Bootstrap& bootstrap = {});

// Over tasks with right answers of known speed, each with the geometric mean of its speed-ups. How much
// slower wrong answers are nobody knows: this figure is nothing without the number of tasks it speaks of.
Estimate geometric_mean_speedup(const std::vector<TaskSamples>& tasks, const Bootstrap& bootstrap = {});

}  // namespace kw::score
