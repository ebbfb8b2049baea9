#include <fmt/format.h>

#include <algorithm>

#include "tasks/task_sources.h"

namespace kw {
namespace {

using Key = KernelBenchTasks::Key;

class KernelBenchSource : public TaskSource {
 public:
  KernelBenchSource(KernelBenchTasks tasks, std::vector<Key> keys)
      : tasks_(std::move(tasks)), keys_(std::move(keys)) {}
  std::optional<std::size_t> total() const override { return tasks_.errors().size() + keys_.size(); }

  Result<std::optional<TaskOrError>> next() override {
    if (error_at_ < tasks_.errors().size()) return tasks_.errors()[error_at_++];
    if (at_ == keys_.size()) return std::nullopt;
    auto [level, problem] = keys_[at_++];
    auto task = tasks_.find(level, problem);
    if (!task) return RowError{"", 0, task.error().what, task.error().remedy};
    return TaskItem{std::move(*task), 0};
  }

 private:
  KernelBenchTasks tasks_;
  std::vector<Key> keys_;
  std::size_t error_at_ = 0;
  std::size_t at_ = 0;
};

std::string rank_of(const Key& key, std::uint64_t seed) {
  return random_rank(seed, kernelbench_task_id(fmt::format("{}", key.first), fmt::format("{}", key.second)),
                     0);
}

}  // namespace

TaskSourcePtr kernelbench_tasks(KernelBenchTasks tasks, const KernelBenchSample& sample) {
  std::map<int, std::vector<Key>> by_level;
  for (const Key& key : tasks.keys())
    if (sample.levels.empty() || sample.levels.contains(key.first)) by_level[key.first].push_back(key);
  std::map<int, std::size_t> sizes;
  for (const auto& [level, keys] : by_level) sizes[level] = keys.size();

  std::vector<Key> chosen;
  for (const auto& [level, share] : even_shares(sizes, sample.count)) {
    std::vector<Key>& keys = by_level[level];
    if (sample.at_random)
      std::ranges::sort(keys, {}, [&](const Key& key) { return rank_of(key, sample.seed); });
    chosen.insert(chosen.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(share));
  }
  std::ranges::sort(chosen);
  return std::make_unique<KernelBenchSource>(std::move(tasks), std::move(chosen));
}

}  // namespace kw
