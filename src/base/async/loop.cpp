#include "base/async/loop.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace kw::async {

double Deadline::left_ms() const {
  return std::chrono::duration<double, std::milli>(at - SteadyClock::now()).count();
}

double ms_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

Task<> sleep_until(Deadline deadline) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, deadline.at);
  boost::system::error_code ignored;
  co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

void spawn(Loop& loop, Task<> task, OnEnd ended) {
  spawn(loop, std::move(task), {}, std::move(ended));
}

void spawn(Loop& loop, Task<> task, boost::asio::cancellation_slot cancel, OnEnd ended) {
  auto heed = [ended = std::move(ended)](std::exception_ptr thrown) mutable { ended(std::move(thrown)); };
  boost::asio::co_spawn(loop, std::move(task), boost::asio::bind_cancellation_slot(cancel, std::move(heed)));
}

void spawn(Loop& loop, Task<> task) {
  spawn(loop, std::move(task), [](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
}

std::string what_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown exception";
  }
}

}  // namespace kw::async
