#include "service/dispatcher.h"

#include <algorithm>
#include <utility>

namespace kw::service {

// A verdict that is there at once would come back here before the call that asked for it has ended.
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
  // It may have left meanwhile.
  if (entry->share) {
    verify::SharedVerifier::Share share = std::move(*entry->share);
    entry->share.reset();
    hooks_.ended(entry, share);
  }
  --waiting_;
  pump();
}

}  // namespace kw::service
