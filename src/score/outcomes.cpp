#include "score/outcomes.h"

#include <cmath>
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

}  // namespace kw::score
