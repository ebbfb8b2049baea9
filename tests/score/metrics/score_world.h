// Short forms of samples' outcomes.
#pragma once

#include <string>
#include <vector>

#include "score/metrics/measures.h"

namespace kw::score {

inline TaskSamples task(const std::string& id, std::size_t samples, std::size_t right,
                        std::vector<double> speedups = {}) {
  TaskSamples one;
  one.task_id = id;
  one.samples = samples;
  one.right = right;
  one.unknown_speeds = right - speedups.size();
  one.speedups = std::move(speedups);
  return one;
}

// One sample a task: '1' right, '0' wrong, by position.
inline std::vector<TaskSamples> tasks(const std::string& right) {
  std::vector<TaskSamples> list;
  for (std::size_t i = 0; i < right.size(); ++i)
    list.push_back(task("task" + std::to_string(1000 + i), 1, right[i] == '1' ? 1 : 0));
  return list;
}

}  // namespace kw::score
