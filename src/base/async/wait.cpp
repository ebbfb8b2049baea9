#include "base/async/wait.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

namespace kw::async {

void Event::set() {
  set_ = true;
  wake_.cancel();
}

Task<> Event::wait() {
  auto cancellation = co_await boost::asio::this_coro::cancellation_state;
  boost::system::error_code ignored;
  while (!set_ && cancellation.cancelled() == boost::asio::cancellation_type::none)
    co_await wake_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

Stop::Stop(Loop& loop, Stop& whole) : whole_(&whole), requested_(loop) {
  whole.parts_.push_back(this);
  if (whole.requested()) request(whole.cause());
}

Stop::~Stop() {
  if (whole_ != nullptr) std::erase(whole_->parts_, this);
}

void Stop::request(std::string cause) {
  if (requested()) return;
  cause_ = std::move(cause);
  requested_.set();
  for (Stop* part : parts_) part->request(cause_);
}

namespace {

// Turns an exception into a normal end: after an exception, || would continue to wait for the others.
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
  // Without a stop, only the deadline ends the wait early.
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
