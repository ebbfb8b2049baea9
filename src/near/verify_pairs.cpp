#include "near/verify_pairs.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace kw::near {
namespace {

constexpr std::size_t pairs_at_once = 64;
constexpr std::size_t worth_a_thread = 256;  // pairs

// One wave of pairs that threads take piece by piece.
class Work {
 public:
  Work(std::span<Pair> pairs, SetCache& sets, const VerifyOptions& options)
      : pairs_(pairs), sets_(sets), options_(options) {}

  // The calling thread alone asks whether to stop.
  void run(bool asks) {
    while (!ended_.load(std::memory_order_relaxed)) {
      std::size_t begin = next_.fetch_add(pairs_at_once);
      if (begin >= pairs_.size()) return;
      if (asks && options_.stop && options_.stop())
        return end({begin, Error{"near duplicates: stopped", ""}});
      std::size_t end_of_piece = std::min(begin + pairs_at_once, pairs_.size());
      for (std::size_t i = begin; i < end_of_piece; ++i)
        if (auto done = compare(pairs_[i]); !done) return end({i, done.error()});
    }
  }

  Result<> result() const {
    if (first_error_) return std::unexpected(first_error_->error);
    return {};
  }

 private:
  struct Failure {
    std::size_t at = 0;
    Error error;
  };

  Result<> compare(Pair& pair) {
    auto a = sets_.at(pair.a);
    if (!a) return std::unexpected(a.error());
    auto b = sets_.at(pair.b);
    if (!b) return std::unexpected(b.error());
    auto [less, more] = std::minmax((*a)->size(), (*b)->size());
    // Less over more is the most that it can be.
    bool can_be = static_cast<double>(less) >= options_.threshold * static_cast<double>(more) - 1;
    double index = can_be ? jaccard(**a, **b) : -1;
    pair.jaccard = index >= options_.threshold ? index : -1;
    return {};
  }

  void end(Failure failure) {
    std::scoped_lock lock(mutex_);
    if (!first_error_ || failure.at < first_error_->at) first_error_ = std::move(failure);
    ended_ = true;
  }

  std::span<Pair> pairs_;
  SetCache& sets_;
  const VerifyOptions& options_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  std::optional<Failure> first_error_;
};

}  // namespace

Result<> verify(std::span<Pair> pairs, SetCache& sets, const VerifyOptions& options) {
  Work work(pairs, sets, options);
  {
    std::vector<std::jthread> helpers;
    std::size_t useful =
        std::min<std::size_t>(std::max(options.threads, 1U), pairs.size() / worth_a_thread + 1);
    for (std::size_t i = 1; i < useful; ++i) helpers.emplace_back([&work] { work.run(false); });
    work.run(true);
  }
  return work.result();
}

}  // namespace kw::near
