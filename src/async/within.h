// The one way to wait: within(deadline, stop, operation).
#pragma once

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <optional>
#include <variant>

#include "async/loop.h"
#include "async/stop.h"

namespace kw::async {

enum class Ended { deadline, stop };

// The operation's value, or what ended the wait before it. The operation is cancelled then.
template <typename T>
struct Waited {
  std::optional<T> value;
  Ended ended = Ended::deadline;
};

template <typename T>
Task<Waited<T>> within(Deadline deadline, Stop* stop, Task<T> operation) {
  using namespace boost::asio::experimental::awaitable_operators;
  Waited<T> waited;
  // Without a stop only the deadline ends it.
  auto stopped = stop != nullptr ? stop->wait() : sleep_until(Deadline::never());
  auto first = co_await (std::move(operation) || sleep_until(deadline) || std::move(stopped));
  if (first.index() == 0)
    waited.value.emplace(std::move(std::get<0>(first)));
  else
    waited.ended = first.index() == 1 ? Ended::deadline : Ended::stop;
  co_return waited;
}

}  // namespace kw::async
