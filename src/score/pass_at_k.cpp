#include "score/pass_at_k.h"

namespace kw::score {

std::optional<double> pass_at_k(std::size_t n, std::size_t c, std::size_t k) {
  if (k == 0 || n < k || c > n) return {};
  if (n - c < k) return 1.0;
  double all_wrong = 1;
  for (std::size_t i = n - c + 1; i <= n; ++i)
    all_wrong *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - all_wrong;
}

PassAtK pass_at_k(const std::vector<TaskSamples>& tasks, std::size_t k, const Bootstrap& bootstrap) {
  PassAtK result;
  result.k = k;
  std::vector<double> values;
  for (const TaskSamples& task : tasks) {
    if (auto value = pass_at_k(task.samples, task.right, k))
      values.push_back(*value);
    else
      result.too_few.push_back(task.task_id);
  }
  result.estimate = mean_over_tasks(values, bootstrap);
  if (!result.too_few.empty() && values.empty()) result.estimate.why = "no task has that many samples";
  return result;
}

}  // namespace kw::score
