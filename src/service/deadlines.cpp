#include "service/deadlines.h"

namespace kw::service {

void Deadlines::add(const EntryPtr& entry) {
  if (entry->deadline.at == async::Deadline::never().at) return;
  pending_.emplace(entry->deadline.at, entry);
  if (pending_.begin()->second == entry) arm();
}

void Deadlines::remove(const EntryPtr& entry) {
  pending_.erase({entry->deadline.at, entry});
}

void Deadlines::stop() {
  pending_.clear();
  timer_.cancel();
}

void Deadlines::arm() {
  if (pending_.empty()) return;
  timer_.expires_at(pending_.begin()->first);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;  // armed anew, or stopped
    const auto now = async::SteadyClock::now();
    while (!pending_.empty() && pending_.begin()->first <= now) {
      EntryPtr due = pending_.begin()->second;
      pending_.erase(pending_.begin());
      on_due_(due);
    }
    arm();
  });
}

}  // namespace kw::service
