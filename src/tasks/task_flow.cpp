#include "tasks/task_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/hash.h"

namespace kw {
namespace {

using Next = Result<std::optional<TaskOrError>>;

class TaskList : public TaskSource {
 public:
  explicit TaskList(std::vector<TaskOrError> items) : items_(std::move(items)) {}
  std::optional<std::size_t> total() const override { return items_.size(); }

  Next next() override {
    if (at_ == items_.size()) return std::nullopt;
    return std::move(items_[at_++]);
  }

 private:
  std::vector<TaskOrError> items_;
  std::size_t at_ = 0;
};

class OpenLater : public TaskSource {
 public:
  explicit OpenLater(std::function<Result<TaskSourcePtr>()> open) : open_(std::move(open)) {}

  Next next() override {
    if (!source_) {
      auto opened = open_();
      if (!opened) return std::unexpected(opened.error());
      source_ = std::move(*opened);
    }
    return source_->next();
  }

 private:
  std::function<Result<TaskSourcePtr>()> open_;
  TaskSourcePtr source_;
};

class Joined : public TaskSource {
 public:
  explicit Joined(std::vector<TaskSourcePtr> sources) : sources_(std::move(sources)) {
    std::size_t sum = 0;
    for (const auto& source : sources_) {
      auto total = source->total();
      if (!total) return;
      sum += *total;
    }
    total_ = sum;
  }
  std::optional<std::size_t> total() const override { return total_; }

  Next next() override {
    while (at_ < sources_.size()) {
      auto item = sources_[at_]->next();
      if (!item || *item) return item;
      sources_[at_++].reset();
    }
    return std::nullopt;
  }

 private:
  std::vector<TaskSourcePtr> sources_;
  std::size_t at_ = 0;
  std::optional<std::size_t> total_;
};

class Numbered : public TaskSource {
 public:
  explicit Numbered(TaskSourcePtr source) : source_(std::move(source)) {}
  std::optional<std::size_t> total() const override { return source_->total(); }

  Next next() override {
    auto item = source_->next();
    if (!item || !*item) return item;
    if (auto* task = std::get_if<TaskItem>(&**item)) {
      std::set<std::size_t>& taken = taken_[task->task.task_id];
      while (!taken.insert(task->sample_number).second) ++task->sample_number;
    }
    return item;
  }

 private:
  TaskSourcePtr source_;
  std::map<std::string, std::set<std::size_t>> taken_;
};

class Filtered : public TaskSource {
 public:
  Filtered(TaskSourcePtr source, std::function<bool(const Task&)> test)
      : source_(std::move(source)), test_(std::move(test)) {}

  Next next() override {
    while (true) {
      auto item = source_->next();
      if (!item || !*item) return item;
      const auto* task = std::get_if<TaskItem>(&**item);
      if (!task || test_(task->task)) return item;
    }
  }

 private:
  TaskSourcePtr source_;
  std::function<bool(const Task&)> test_;
};

class First : public TaskSource {
 public:
  First(TaskSourcePtr source, std::size_t count) : source_(std::move(source)), count_(count) {}

  std::optional<std::size_t> total() const override {
    auto total = source_->total();
    return total ? std::optional(std::min(*total, count_)) : std::nullopt;
  }

  Next next() override {
    if (given_ == count_) return std::nullopt;
    auto item = source_->next();
    if (item && *item && std::holds_alternative<TaskItem>(**item)) ++given_;
    return item;
  }

 private:
  TaskSourcePtr source_;
  std::size_t count_;
  std::size_t given_ = 0;
};

}  // namespace

TaskSourcePtr task_list(std::vector<TaskOrError> items) {
  return std::make_unique<TaskList>(std::move(items));
}

TaskSourcePtr open_later(std::function<Result<TaskSourcePtr>()> open) {
  return std::make_unique<OpenLater>(std::move(open));
}

TaskSourcePtr join(std::vector<TaskSourcePtr> sources) {
  return std::make_unique<Joined>(std::move(sources));
}

TaskSourcePtr number_occurrences(TaskSourcePtr source) {
  return std::make_unique<Numbered>(std::move(source));
}

TaskSourcePtr filter_tasks(TaskSourcePtr source, std::function<bool(const Task&)> test) {
  return std::make_unique<Filtered>(std::move(source), std::move(test));
}

TaskSourcePtr first_tasks(TaskSourcePtr source, std::size_t count) {
  return std::make_unique<First>(std::move(source), count);
}

std::string random_rank(std::uint64_t seed, std::string_view task_id, std::size_t sample_number) {
  return sha256_hex_of({fmt::format("{}", seed), task_id, fmt::format("{}", sample_number)}).substr(0, 16);
}

Result<TaskSourcePtr> sample_tasks(TaskSource& source, std::size_t count, std::uint64_t seed) {
  std::vector<TaskOrError> items;
  std::map<std::pair<std::string, std::size_t>, TaskItem> lowest;  // by rank, then by place
  for (std::size_t place = 0;; ++place) {
    auto item = source.next();
    if (!item) return std::unexpected(item.error());
    if (!*item) break;
    if (auto* error = std::get_if<RowError>(&**item)) {
      items.emplace_back(std::move(*error));
      continue;
    }
    auto& task = std::get<TaskItem>(**item);
    lowest.emplace(std::pair(random_rank(seed, task.task.task_id, task.sample_number), place),
                   std::move(task));
    if (lowest.size() > count) lowest.erase(std::prev(lowest.end()));
  }
  for (auto& [rank, task] : lowest) items.emplace_back(std::move(task));
  return task_list(std::move(items));
}

std::map<int, std::size_t> even_shares(const std::map<int, std::size_t>& sizes, std::size_t total) {
  std::map<int, std::size_t> shares;
  std::size_t left = total;
  // One each in turn; a group that is used up is passed over.
  for (bool given = true; given && left > 0;) {
    given = false;
    for (const auto& [group, size] : sizes) {
      if (left == 0 || shares[group] == size) continue;
      ++shares[group];
      --left;
      given = true;
    }
  }
  return shares;
}

}  // namespace kw
