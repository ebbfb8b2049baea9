// Watch: one who waits for a change of any of several evaluations. It costs a timer, and nothing while it
// waits.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <set>
#include <vector>

#include "service/entry.h"

namespace kw::service {

using Watches = std::set<Watch*>;

class Watch {
 public:
  // Both outlive it: `all` are those to be woken at the end.
  Watch(async::Loop& loop, Watches& all, std::vector<EntryPtr> entries);
  ~Watch();
  Watch(const Watch&) = delete;

  // Ends with the first change since the last wait, at the deadline, or when it is cancelled.
  async::Task<> wait(async::Deadline deadline);
  void wake();

  const std::vector<EntryPtr>& entries() const { return entries_; }

 private:
  Watches& all_;
  std::vector<EntryPtr> entries_;
  boost::asio::steady_timer timer_;
  bool woken_ = false;
};

// Wakes all who watch it.
void changed(Entry& entry);

}  // namespace kw::service
