#include "async/event.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

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

}  // namespace kw::async
