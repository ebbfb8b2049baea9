#include "score/metrics/measures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace kw::score {

Outcome outcome_of(const Verdict& verdict, Trust least) {
  Outcome outcome;
  outcome.task_id = verdict.task_id;
  auto correct = correctness(verdict);
  if (!correct) return outcome;
  if (!correct_and_counts(verdict)) {
    outcome.standing = Standing::wrong;
    return outcome;
  }
  outcome.standing = Standing::right;
  outcome.speedup = speedup_trusted(verdict, least);
  return outcome;
}

std::vector<TaskSamples> by_task(const std::vector<Outcome>& outcomes) {
  std::map<std::string, TaskSamples> tasks;
  for (const Outcome& outcome : outcomes) {
    TaskSamples& task = tasks[outcome.task_id];
    task.task_id = outcome.task_id;
    if (outcome.standing == Standing::unknown) {
      ++task.unknown;
      continue;
    }
    ++task.samples;
    if (outcome.standing == Standing::wrong) continue;
    ++task.right;
    if (outcome.speedup && std::isfinite(*outcome.speedup) && *outcome.speedup > 0)
      task.speedups.push_back(*outcome.speedup);
    else
      ++task.unknown_speeds;
  }
  std::vector<TaskSamples> listed;
  listed.reserve(tasks.size());
  for (auto& [id, task] : tasks) listed.push_back(std::move(task));
  return listed;
}

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

std::vector<std::size_t> usual_k(const std::vector<TaskSamples>& tasks) {
  constexpr std::size_t most_listed = 32;
  std::vector<std::size_t> samples;
  for (const TaskSamples& task : tasks)
    if (task.samples > 0) samples.push_back(task.samples);
  if (samples.empty()) return {1};
  std::ranges::sort(samples, std::greater());
  const std::size_t largest = samples[(samples.size() - 1) / 2];
  std::vector<std::size_t> all;
  for (std::size_t k = 1; k < largest; k += k < most_listed ? 1 : k) all.push_back(k);
  all.push_back(largest);
  return all;
}

namespace {

std::size_t faster_than(const TaskSamples& task, double p) {
  if (p == 0) return task.right;
  return static_cast<std::size_t>(
      std::ranges::count_if(task.speedups, [p](double speedup) { return speedup > p; }));
}

FastPoint point(const std::vector<const TaskSamples*>& tasks, double p, const Bootstrap& bootstrap) {
  FastPoint point;
  point.p = p;
  std::vector<double> at_least;
  std::vector<double> at_most;
  for (const TaskSamples* task : tasks) {
    std::size_t faster = faster_than(*task, p);
    std::size_t unknown = p == 0 ? 0 : task->unknown_speeds;
    point.faster += faster;
    point.unknown_speeds += unknown;
    point.samples += task->samples;
    auto samples = static_cast<double>(task->samples);
    at_least.push_back(static_cast<double>(faster) / samples);
    at_most.push_back(static_cast<double>(faster + unknown) / samples);
  }
  point.at_least = mean_over_tasks(at_least, bootstrap);
  point.at_most = mean_over_tasks(at_most, bootstrap);
  point.share = point.at_least;
  if (point.unknown_speeds > 0) {
    point.share = {};
    point.share.tasks = tasks.size();
    point.share.why = "the speed of right answers is unknown";
  }
  return point;
}

}  // namespace

FastCurve fast_p(const std::vector<TaskSamples>& tasks, const std::vector<double>& p,
                 const Bootstrap& bootstrap) {
  FastCurve curve;
  std::vector<const TaskSamples*> judged;
  for (const TaskSamples& task : tasks) {
    curve.samples_not_judged += task.unknown;
    if (task.samples > 0)
      judged.push_back(&task);
    else
      ++curve.tasks_not_judged;
  }
  curve.tasks = judged.size();
  for (double one : p)
    if (std::isfinite(one) && one >= 0) curve.points.push_back(point(judged, one, bootstrap));
  return curve;
}

Estimate geometric_mean_speedup(const std::vector<TaskSamples>& tasks, const Bootstrap& bootstrap) {
  std::vector<double> means;
  for (const TaskSamples& task : tasks) {
    if (task.speedups.empty()) continue;
    double sum = 0;
    for (double speedup : task.speedups) sum += std::log(speedup);
    means.push_back(std::exp(sum / static_cast<double>(task.speedups.size())));
  }
  return geometric_mean_over_tasks(means, bootstrap);
}

}  // namespace kw::score
