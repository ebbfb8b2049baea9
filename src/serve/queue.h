// Queue: the waiting evaluations of all owners. Owners take turns, so that none waits for another's backlog;
// the evaluations of one owner go by priority, then by arrival.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "serve/entries.h"

namespace kw::service {

class Queue {
 public:
  // The number of an owner's works that run.
  using Running = std::function<std::size_t(std::string_view owner)>;

  void push(const EntryPtr& entry);
  // The next one, of the owner with the fewest running works; among several, of the one whose last turn is
  // the longest ago. Null if none waits.
  EntryPtr pop(const Running& running);
  // Ignores an evaluation that is not in the queue.
  void remove(const Entry& entry);
  // Removes all evaluations of this work that may share a verdict.
  std::vector<EntryPtr> take_equal(const std::string& work_key);
  // Owner by owner.
  std::vector<EntryPtr> take_all();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // The number of its owner's evaluations before it.
  std::size_t ahead_of(const Entry& entry) const;

 private:
  using InOrder = std::map<std::int64_t, EntryPtr>;
  // The evaluations of an owner. It stays when it is empty: a lane that came back without its last turn would
  // precede the others for ever.
  struct Lane {
    std::map<int, InOrder, std::greater<>> by_priority;
    std::uint64_t last_turn = 0;
  };
  Lane* next_lane(const Running& running);
  void forget(const Entry& entry);

  std::map<std::string, Lane, std::less<>> lanes_;    // by owner
  std::unordered_map<std::string, InOrder> by_work_;  // entries that may share a verdict
  std::size_t size_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace kw::service
