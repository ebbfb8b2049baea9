// A manual-reset event: any number of coroutines wait, one call wakes them all.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "async/loop.h"

namespace kw::async {

class Event {
 public:
  explicit Event(Loop& loop) : wake_(loop, SteadyClock::time_point::max()) {}

  void set();
  void reset() { set_ = false; }
  bool is_set() const { return set_; }

  // Ends at once where the event is set already.
  Task<> wait();

 private:
  bool set_ = false;
  boost::asio::steady_timer wake_;
};

}  // namespace kw::async
