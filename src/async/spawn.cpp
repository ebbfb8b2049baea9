#include "async/spawn.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <utility>

namespace kw::async {

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
