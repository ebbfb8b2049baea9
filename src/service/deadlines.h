// Deadlines: calls back when an evaluation has had its time.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <set>
#include <utility>

#include "service/entry.h"
#include "service/spawner.h"

namespace kw::service {

class Deadlines {
 public:
  Deadlines(const Spawner& spawn, std::function<void(const EntryPtr&)> on_due)
      : on_due_(std::move(on_due)), timer_(spawn.loop()) {}

  // Nothing for one without a deadline.
  void add(const EntryPtr& entry);
  void remove(const EntryPtr& entry);
  void stop();

 private:
  void arm();

  std::function<void(const EntryPtr&)> on_due_;
  std::set<std::pair<async::SteadyClock::time_point, EntryPtr>> pending_;
  boost::asio::steady_timer timer_;
};

}  // namespace kw::service
