#include "async/within.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <exception>

namespace kw::async {
namespace {

// An exception ends the operation too; || alone would go on waiting for the others.
Task<> to_its_end(Task<> operation, std::exception_ptr* thrown) {
  try {
    co_await std::move(operation);
  } catch (...) {
    *thrown = std::current_exception();
  }
}

}  // namespace

Task<std::optional<Ended>> within(Deadline deadline, Stop* stop, Task<> operation) {
  using namespace boost::asio::experimental::awaitable_operators;
  std::exception_ptr thrown;
  // Without a stop only the deadline ends it.
  auto stopped = stop != nullptr ? stop->wait() : sleep_until(Deadline::never());
  auto first =
      co_await (to_its_end(std::move(operation), &thrown) || sleep_until(deadline) || std::move(stopped));
  if (first.index() == 1) co_return Ended::deadline;
  if (first.index() == 2) co_return Ended::stop;
  if (thrown) std::rethrow_exception(thrown);
  co_return std::nullopt;
}

Task<> pause(std::chrono::milliseconds time, Stop& stop) {
  co_await within(Deadline::never(), &stop, sleep_until(Deadline::in(time)));
}

}  // namespace kw::async
