// pass@k: how likely one of k answers is right.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "score/intervals.h"
#include "score/outcomes.h"

namespace kw::score {

// Of one task with n samples, c of them right: 1 - C(n-c, k) / C(n, k), without bias (Chen et al. 2021,
// "Evaluating Large Language Models Trained on Code", arXiv:2107.03374, equation 1). Computed as
// 1 - Π (1 - k/i) for i from n-c+1 to n, so that nothing overflows. Nothing where k is 0, n < k, or c > n.
std::optional<double> pass_at_k(std::size_t n, std::size_t c, std::size_t k);

struct PassAtK {
  std::size_t k = 0;
  Estimate estimate;                 // the mean over tasks for which it is defined
  std::vector<std::string> too_few;  // tasks with fewer than k samples: for these it isn't defined
};

PassAtK pass_at_k(const std::vector<TaskSamples>& tasks, std::size_t k, const Bootstrap& bootstrap = {});

}  // namespace kw::score
