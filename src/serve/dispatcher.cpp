#include "serve/dispatcher.h"

#include <algorithm>
#include <utility>

#include "serve/owners.h"

namespace kw::service {

// pumping_ prevents recursion: a verdict that is ready at once calls pump() again.
void Dispatcher::pump() {
  if (pumping_ || verifier_ == nullptr) return;
  pumping_ = true;
  while (running() < std::max<std::size_t>(1, verifier_->width()) && !queue_.empty() && hooks_.may_start()) {
    EntryPtr next = queue_.pop([this](std::string_view owner) { return running_of(owner); });
    start(next);
    for (const EntryPtr& equal : queue_.take_equal(next->work_key)) start(equal);
  }
  pumping_ = false;
}

std::size_t Dispatcher::running_of(std::string_view owner) const {
  if (verifier_ == nullptr) return 0;
  return verifier_->under_way([owner](std::string_view work) { return owner_of(work) == owner; });
}

bool Dispatcher::join(const EntryPtr& entry) {
  if (!may_share(*entry) || verifier_ == nullptr || !verifier_->is_under_way(entry->work_key)) return false;
  start(entry);
  return true;
}

void Dispatcher::stop_all(const std::string& cause) {
  if (verifier_ != nullptr) verifier_->stop_all(cause);
}

void Dispatcher::start(const EntryPtr& entry) {
  entry->share.emplace(may_share(*entry) ? verifier_->share(entry->job, entry->work_key)
                                         : verifier_->share_anew(entry->job, entry->work_key));
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
