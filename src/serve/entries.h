// Evaluations in memory. Entry: one that has not ended. Deadlines and Watch wait on entries. Shelf: a cache
// of recently ended evaluations, since clients usually fetch them at once.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/async/loop.h"
#include "serve/evaluation.h"
#include "serve/runtime.h"
#include "verify/api/shared_verifier.h"

namespace kw::service {

class Watch;

// Entry: an evaluation that has not ended.
struct Entry {
  std::shared_ptr<const Job> job;
  std::string digest;
  int priority = 0;
  bool fresh = false;
  std::size_t bytes = 0;  // of its request
  async::Deadline deadline;

  std::string work_key;    // equal for equal work; empty until a verifier states its protocol
  std::int64_t seq = 0;    // in the store; the order within one priority
  bool admitted = false;   // the store contains it
  bool dropped = false;    // not kept in memory: it was not stored, or it existed before
  bool repeated = false;   // it existed before
  bool ending = false;     // its end is in preparation or written
  EvaluationState record;  // the published state
  std::optional<verify::SharedVerifier::Share> share;  // in the running work that yields its verdict
  std::vector<Watch*> watches;                         // sorted
};

using EntryPtr = std::shared_ptr<Entry>;

// Whether it may take the verdict on equal work. Works without a key are not equal.
inline bool may_share(const Entry& entry) {
  return !entry.fresh && !entry.work_key.empty();
}

// Deadlines: calls back when the deadline of an evaluation passes.
class Deadlines {
 public:
  Deadlines(const Spawner& spawn, std::function<void(const EntryPtr&)> on_due)
      : on_due_(std::move(on_due)), timer_(spawn.loop()) {}

  // Ignores evaluations without a deadline.
  void add(const EntryPtr& entry);
  void remove(const EntryPtr& entry);
  void stop();

 private:
  void arm();

  std::function<void(const EntryPtr&)> on_due_;
  std::set<std::pair<async::SteadyClock::time_point, EntryPtr>> pending_;
  boost::asio::steady_timer timer_;
};

using Watches = std::set<Watch*>;

// Watch: waits for a change of any of several evaluations. It costs one timer and no polling.
class Watch {
 public:
  // Both must outlive it; `all` contains the watches to wake at the end.
  Watch(async::Loop& loop, Watches& all, std::vector<EntryPtr> entries);
  ~Watch();
  Watch(const Watch&) = delete;

  // Returns at the first change since the last wait, at the deadline, or when it is cancelled.
  async::Task<> wait(async::Deadline deadline);
  void wake();

  const std::vector<EntryPtr>& entries() const { return entries_; }

 private:
  Watches& all_;
  std::vector<EntryPtr> entries_;
  boost::asio::steady_timer timer_;
  bool woken_ = false;
};

// Wakes the watches of the entry.
void changed(Entry& entry);

// Shelf: a cache of recently ended evaluations, since clients usually fetch them at once.
class Shelf {
 public:
  explicit Shelf(std::size_t bytes) : most_(bytes) {}

  // Drops the oldest above the limit.
  void put(const EvaluationState& record);
  const EvaluationState* find(std::string_view id) const;

 private:
  static std::size_t weight(const EvaluationState& record);

  std::size_t most_;
  std::size_t bytes_ = 0;
  std::list<EvaluationState> records_;  // the oldest first
  std::unordered_map<std::string_view, const EvaluationState*> by_id_;
};

}  // namespace kw::service
