// The one way to wait: within(deadline, stop, operation).
#pragma once

#include <optional>
#include <utility>

#include "async/loop.h"
#include "async/stop.h"

namespace kw::async {

enum class Ended { deadline, stop };

// What ended the wait before the operation, which is cancelled then. What the operation throws is thrown.
Task<std::optional<Ended>> within(Deadline deadline, Stop* stop, Task<> operation);

// The operation's value, or what ended the wait before it.
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
    waited.value.reset();  // of an operation that ended a moment later
    waited.ended = *ended;
  }
  co_return waited;
}

// Sleeps, and wakes early where a stop is requested.
Task<> pause(std::chrono::milliseconds time, Stop& stop);

}  // namespace kw::async
