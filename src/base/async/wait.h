// Waits of coroutines: for an event, for a stop request with a cause (Ctrl-C, a client's disconnect, a
// shutdown), and within(deadline, stop, operation), which every wait of the program goes through.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/loop.h"

namespace kw::async {

// Manual-reset: any number of coroutines wait, and one call wakes them all.
class Event {
 public:
  explicit Event(Loop& loop) : wake_(loop, SteadyClock::time_point::max()) {}

  void set();
  void reset() { set_ = false; }
  bool is_set() const { return set_; }

  // Returns at once if the event is set.
  Task<> wait();

 private:
  bool set_ = false;
  boost::asio::steady_timer wake_;
};

// Stop: a stop request with a cause, for Ctrl-C, a client's disconnect and a shutdown.
class Stop {
 public:
  explicit Stop(Loop& loop) : requested_(loop) {}
  // A stop of a part of the work: requested with `whole`, which must outlive it, or alone.
  Stop(Loop& loop, Stop& whole);
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  // Keeps the first cause.
  void request(std::string cause);
  bool requested() const { return requested_.is_set(); }
  const std::string& cause() const { return cause_; }

  // Ends when a stop is requested.
  Task<> wait() { return requested_.wait(); }

 private:
  std::string cause_;
  Stop* whole_ = nullptr;
  std::vector<Stop*> parts_;
  Event requested_;
};

// within(deadline, stop, operation): every wait of the program goes through it.
enum class Ended { deadline, stop };

// The deadline or stop that ended the wait and cancelled the operation. Rethrows exceptions of the
// operation.
Task<std::optional<Ended>> within(Deadline deadline, Stop* stop, Task<> operation);

// The operation's value, or the reason why the wait ended before it.
template <typename T>
struct Waited {
  std::optional<T> value;
  Ended ended = Ended::deadline;
};

template <typename T>
Task<Waited<T>> within(Deadline deadline, Stop* stop, Task<T> operation) {
  Waited<T> waited;
  auto keep = [](Task<T> of, std::optional<T>* value) -> Task<> { value->emplace(co_await std::move(of)); };
  if (auto ended = co_await within(deadline, stop, keep(std::move(operation), &waited.value))) {
    waited.value.reset();  // the operation ended just afterwards
    waited.ended = *ended;
  }
  co_return waited;
}

// Sleeps; a stop request ends the sleep.
Task<> pause(std::chrono::milliseconds time, Stop& stop);

}  // namespace kw::async
