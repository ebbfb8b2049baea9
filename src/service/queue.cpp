#include "service/queue.h"

#include <iterator>

namespace kw::service {
namespace {

bool may_share(const Entry& entry) {
  return !entry.fresh && !entry.work_key.empty();
}

}  // namespace

void Queue::push(const EntryPtr& entry) {
  by_priority_[entry->priority].emplace(entry->seq, entry);
  if (may_share(*entry)) by_work_[entry->work_key].emplace(entry->seq, entry);
  ++size_;
}

EntryPtr Queue::pop() {
  if (by_priority_.empty()) return nullptr;
  EntryPtr next = by_priority_.begin()->second.begin()->second;
  forget(*next);
  return next;
}

void Queue::remove(const Entry& entry) {
  auto level = by_priority_.find(entry.priority);
  if (level != by_priority_.end() && level->second.contains(entry.seq)) forget(entry);
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
  while (EntryPtr next = pop()) all.push_back(std::move(next));
  return all;
}

std::size_t Queue::ahead_of(const Entry& entry) const {
  std::size_t count = 0;
  for (const auto& [priority, waiting] : by_priority_) {
    if (priority > entry.priority) count += waiting.size();
    if (priority != entry.priority) continue;
    // The one who asks has usually come last.
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
  auto level = by_priority_.find(entry.priority);
  level->second.erase(entry.seq);  // may have been the last to hold it
  if (level->second.empty()) by_priority_.erase(level);
  --size_;
}

}  // namespace kw::service
