#include "async/loop.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

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

}  // namespace kw::async
