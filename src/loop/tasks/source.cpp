#include "loop/tasks/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/core/crypto.h"

namespace kw {
namespace {

using Next = Result<std::optional<JobOrError>>;

class JobList : public Source {
 public:
  explicit JobList(std::vector<JobOrError> items) : items_(std::move(items)) {}
  std::optional<std::size_t> total() const override { return items_.size(); }

  Next next() override {
    if (at_ == items_.size()) return std::nullopt;
    return std::move(items_[at_++]);
  }

 private:
  std::vector<JobOrError> items_;
  std::size_t at_ = 0;
};

class OpenLater : public Source {
 public:
  explicit OpenLater(std::function<Result<SourcePtr>()> open) : open_(std::move(open)) {}

  Next next() override {
    if (!source_) {
      auto opened = open_();
      if (!opened) return std::unexpected(opened.error());
      source_ = std::move(*opened);
    }
    return source_->next();
  }

 private:
  std::function<Result<SourcePtr>()> open_;
  SourcePtr source_;
};

class Joined : public Source {
 public:
  explicit Joined(std::vector<SourcePtr> sources) : sources_(std::move(sources)) {
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
  std::vector<SourcePtr> sources_;
  std::size_t at_ = 0;
  std::optional<std::size_t> total_;
};

// The sample numbers of one task that are in use.
class Numbers {
 public:
  // Reserves and returns the first free number that is at least `number`.
  std::size_t take(std::size_t number) {
    number = std::max(number, first_free_);
    while (above_.contains(number)) ++number;
    above_.insert(number);
    while (above_.erase(first_free_) > 0) ++first_free_;
    return number;
  }

 private:
  std::size_t first_free_ = 0;
  std::set<std::size_t> above_;  // numbers in use above first_free_
};

class Numbered : public Source {
 public:
  explicit Numbered(SourcePtr source) : source_(std::move(source)) {}
  std::optional<std::size_t> total() const override { return source_->total(); }

  Next next() override {
    auto item = source_->next();
    if (!item || !*item) return item;
    if (auto* job = std::get_if<Job>(&**item))
      job->sample_number = in_use_[job->task.task_id].take(job->sample_number);
    return item;
  }

 private:
  SourcePtr source_;
  std::map<std::string, Numbers> in_use_;
};

class Filtered : public Source {
 public:
  Filtered(SourcePtr source, std::function<bool(const Task&)> test)
      : source_(std::move(source)), test_(std::move(test)) {}

  Next next() override {
    while (true) {
      auto item = source_->next();
      if (!item || !*item) return item;
      const auto* job = std::get_if<Job>(&**item);
      if (!job || test_(job->task)) return item;
    }
  }

 private:
  SourcePtr source_;
  std::function<bool(const Task&)> test_;
};

class First : public Source {
 public:
  First(SourcePtr source, std::size_t count, BadRows bad_rows)
      : source_(std::move(source)), count_(count), bad_rows_(bad_rows) {}

  std::optional<std::size_t> total() const override {
    auto total = source_->total();
    return total ? std::optional(std::min(*total, count_)) : std::nullopt;
  }

  Next next() override {
    if (given_ == count_) return std::nullopt;
    auto item = source_->next();
    if (item && *item && (bad_rows_ == BadRows::counted || std::holds_alternative<Job>(**item))) ++given_;
    return item;
  }

 private:
  SourcePtr source_;
  std::size_t count_;
  BadRows bad_rows_;
  std::size_t given_ = 0;
};

}  // namespace

Result<> read_all(Source& source, const std::function<void(Job)>& job,
                  const std::function<void(RowError)>& bad_row) {
  while (true) {
    auto next = source.next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return {};
    if (auto* error = std::get_if<RowError>(&**next))
      bad_row(std::move(*error));
    else
      job(std::move(std::get<Job>(**next)));
  }
}

SourcePtr job_list(std::vector<JobOrError> items) {
  return std::make_unique<JobList>(std::move(items));
}

SourcePtr open_later(std::function<Result<SourcePtr>()> open) {
  return std::make_unique<OpenLater>(std::move(open));
}

SourcePtr join(std::vector<SourcePtr> sources) {
  return std::make_unique<Joined>(std::move(sources));
}

SourcePtr number_occurrences(SourcePtr source) {
  return std::make_unique<Numbered>(std::move(source));
}

SourcePtr filter_jobs(SourcePtr source, std::function<bool(const Task&)> test) {
  return std::make_unique<Filtered>(std::move(source), std::move(test));
}

SourcePtr first_jobs(SourcePtr source, std::size_t count, BadRows bad_rows) {
  return std::make_unique<First>(std::move(source), count, bad_rows);
}

std::string random_rank(std::uint64_t seed, std::string_view task_id, std::size_t sample_number) {
  return sha256_hex_of({fmt::format("{}", seed), task_id, fmt::format("{}", sample_number)}).substr(0, 16);
}

Result<SourcePtr> sample_jobs(Source& source, std::size_t count, std::uint64_t seed) {
  std::vector<JobOrError> items;
  std::map<std::pair<std::string, std::size_t>, Job> lowest;  // by rank, then by order
  std::size_t place = 0;
  auto keep = [&](Job job) {
    lowest.emplace(std::pair(random_rank(seed, job.task.task_id, job.sample_number), place++),
                   std::move(job));
    if (lowest.size() > count) lowest.erase(std::prev(lowest.end()));
  };
  auto read = read_all(source, keep, [&](RowError error) { items.emplace_back(std::move(error)); });
  if (!read) return std::unexpected(read.error());
  for (auto& [rank, job] : lowest) items.emplace_back(std::move(job));
  return job_list(std::move(items));
}

std::map<int, std::size_t> even_shares(const std::map<int, std::size_t>& sizes, std::size_t total) {
  std::map<int, std::size_t> shares;
  std::size_t left = total;
  // One for each group in turn; exhausted groups are skipped.
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
