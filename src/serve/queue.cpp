#include "serve/queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "serve/owners.h"

namespace kw::service {
namespace {

std::string_view holder_of(const Entry& entry) {
  return owner_of(entry.record.id);
}

}  // namespace

void Queue::push(const EntryPtr& entry) {
  lanes_[std::string(holder_of(*entry))].by_priority[entry->priority].emplace(entry->seq, entry);
  if (may_share(*entry)) by_work_[entry->work_key].emplace(entry->seq, entry);
  ++size_;
}

Queue::Lane* Queue::next_lane(const Running& running) {
  Lane* next = nullptr;
  // Works are counted only where there is a choice.
  const auto waits = [](const auto& lane) { return !lane.second.by_priority.empty(); };
  const bool is_one = std::ranges::count_if(lanes_, waits) == 1;
  std::pair<std::size_t, std::uint64_t> least;
  for (auto& [owner, lane] : lanes_) {
    if (lane.by_priority.empty()) continue;
    const std::pair rank(is_one ? 0 : running(owner), lane.last_turn);
    if (next != nullptr && rank >= least) continue;
    next = &lane;
    least = rank;
  }
  return next;
}

EntryPtr Queue::pop(const Running& running) {
  Lane* lane = next_lane(running);
  if (lane == nullptr) return nullptr;
  lane->last_turn = ++turns_;
  EntryPtr next = lane->by_priority.begin()->second.begin()->second;
  forget(*next);
  return next;
}

void Queue::remove(const Entry& entry) {
  auto lane = lanes_.find(holder_of(entry));
  if (lane == lanes_.end()) return;
  auto level = lane->second.by_priority.find(entry.priority);
  if (level != lane->second.by_priority.end() && level->second.contains(entry.seq)) forget(entry);
}

std::vector<EntryPtr> Queue::take_equal(const std::string& work_key) {
  std::vector<EntryPtr> equal;
  auto waiting = by_work_.find(work_key);
  if (waiting == by_work_.end()) return equal;
  for (const auto& [seq, entry] : waiting->second) equal.push_back(entry);
  for (const EntryPtr& entry : equal) forget(*entry);
  return equal;
}

std::vector<EntryPtr> Queue::take_all() {
  std::vector<EntryPtr> all;
  for (auto& [owner, lane] : lanes_) {
    for (auto& [priority, waiting] : lane.by_priority)
      for (auto& [seq, entry] : waiting) all.push_back(std::move(entry));
    lane.by_priority.clear();
  }
  by_work_.clear();
  size_ = 0;
  return all;
}

std::size_t Queue::ahead_of(const Entry& entry) const {
  auto lane = lanes_.find(holder_of(entry));
  if (lane == lanes_.end()) return 0;
  std::size_t count = 0;
  for (const auto& [priority, waiting] : lane->second.by_priority) {
    if (priority > entry.priority) count += waiting.size();
    if (priority != entry.priority) continue;
    // Counts from the end, since the entry is usually among the last.
    auto place = waiting.lower_bound(entry.seq);
    count += waiting.size() - static_cast<std::size_t>(std::distance(place, waiting.end()));
  }
  return count;
}

void Queue::forget(const Entry& entry) {
  if (auto equal = by_work_.find(entry.work_key); equal != by_work_.end()) {
    equal->second.erase(entry.seq);
    if (equal->second.empty()) by_work_.erase(equal);
  }
  auto& by_priority = lanes_.find(holder_of(entry))->second.by_priority;
  auto level = by_priority.find(entry.priority);
  level->second.erase(entry.seq);  // may destroy the entry
  if (level->second.empty()) by_priority.erase(level);
  --size_;
}

}  // namespace kw::service
