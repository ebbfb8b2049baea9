// The one loop: a single io_context thread owns all state. Coroutines are asio awaitables on it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>

namespace kw::async {

template <typename T = void>
using Task = boost::asio::awaitable<T>;

using Loop = boost::asio::io_context;
using SteadyClock = std::chrono::steady_clock;

// An absolute point in time by which an operation must have ended.
struct Deadline {
  SteadyClock::time_point at = SteadyClock::time_point::max();

  static Deadline never() { return {}; }
  static Deadline in(std::chrono::milliseconds wait) { return {SteadyClock::now() + wait}; }
  // A child's deadline is never later than its parent's.
  Deadline or_in(std::chrono::milliseconds wait) const {
    Deadline child = in(wait);
    return child.at < at ? child : *this;
  }
  bool passed() const { return SteadyClock::now() >= at; }
  double left_ms() const;
};

// Milliseconds since a point in time.
double ms_since(SteadyClock::time_point start);

Task<> sleep_until(Deadline deadline);

}  // namespace kw::async
