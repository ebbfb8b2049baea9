// The event loop: one io_context thread owns all state. Coroutines are asio awaitables on it; they start
// detached, and can wait for work on another thread.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/core/result.h"

namespace kw::async {

// The event loop: one io_context thread owns all state. Coroutines are asio awaitables on it.
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

// The coroutine's exception, or null.
using OnEnd = std::move_only_function<void(std::exception_ptr)>;

// `ended` runs on the loop after the coroutine; its captures live until then.
void spawn(Loop& loop, Task<> task, OnEnd ended);

// The same, cancelled through the slot.
void spawn(Loop& loop, Task<> task, boost::asio::cancellation_slot cancel, OnEnd ended);

// The same for a coroutine that must not throw: an exception leaves the loop's run().
void spawn(Loop& loop, Task<> task);

// The text of an exception.
std::string what_of(const std::exception_ptr& thrown);

using Done = std::move_only_function<void(std::optional<Error>)>;

// Suspends until start(done) has called done(error) on any thread; resumes on the loop.
inline Task<std::optional<Error>> elsewhere(std::move_only_function<void(Done)> start) {
  namespace asio = boost::asio;
  auto initiate = [](auto handler, auto begin) {
    auto executor = asio::get_associated_executor(handler);
    begin([handler = std::move(handler), executor,
           busy = asio::make_work_guard(executor)](std::optional<Error> error) mutable {
      asio::post(executor, [handler = std::move(handler), error = std::move(error)]() mutable {
        std::move(handler)(std::move(error));
      });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::optional<Error>)>(
      initiate, asio::use_awaitable, std::move(start));
}

}  // namespace kw::async
