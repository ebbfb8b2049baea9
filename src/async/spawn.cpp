#include "async/spawn.h"

#include <boost/asio/co_spawn.hpp>
#include <utility>

namespace kw::async {

void spawn(Loop& loop, Task<> task, OnEnd ended) {
  boost::asio::co_spawn(loop, std::move(task), [ended = std::move(ended)](std::exception_ptr thrown) mutable {
    ended(std::move(thrown));
  });
}

void spawn(Loop& loop, Task<> task) {
  spawn(loop, std::move(task), [](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
}

}  // namespace kw::async
