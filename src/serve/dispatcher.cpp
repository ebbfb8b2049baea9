#include "serve/dispatcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

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
  auto level = by_priority_.find(entry.priority);
  level->second.erase(entry.seq);  // may destroy the entry
  if (level->second.empty()) by_priority_.erase(level);
  --size_;
}

// pumping_ prevents recursion: a verdict that is ready at once calls pump() again.
void Dispatcher::pump() {
  if (pumping_ || verifier_ == nullptr) return;
  pumping_ = true;
  while (running() < std::max<std::size_t>(1, verifier_->width()) && !queue_.empty() && hooks_.may_start()) {
    EntryPtr next = queue_.pop();
    start(next);
    for (const EntryPtr& equal : queue_.take_equal(next->work_key)) start(equal);
  }
  pumping_ = false;
}

bool Dispatcher::join(const EntryPtr& entry) {
  if (entry->fresh || verifier_ == nullptr || !verifier_->is_under_way(entry->work_key)) return false;
  start(entry);
  return true;
}

void Dispatcher::stop_all(const std::string& cause) {
  if (verifier_ != nullptr) verifier_->stop_all(cause);
}

void Dispatcher::start(const EntryPtr& entry) {
  entry->share.emplace(entry->fresh ? verifier_->share_anew(entry->job, entry->work_key)
                                    : verifier_->share(entry->job, entry->work_key));
  hooks_.started(entry);
  ++waiting_;
  spawn_(until_ended(entry));
}

async::Task<> Dispatcher::until_ended(EntryPtr entry) {
  co_await entry->share->ended();
  // The evaluation may have left its work in the meantime.
  if (entry->share) {
    verify::SharedVerifier::Share share = std::move(*entry->share);
    entry->share.reset();
    hooks_.ended(entry, share);
  }
  --waiting_;
  pump();
}

}  // namespace kw::service
