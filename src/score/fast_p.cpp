#include "score/fast_p.h"

#include <algorithm>
#include <cmath>

namespace kw::score {
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
