// Runs one coroutine on a loop of its own to its end.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <optional>

#include "base/async/loop.h"

namespace kw::test {

template <typename T>
T run_task(async::Loop& loop, async::Task<T> task) {
  std::optional<T> result;
  std::exception_ptr thrown;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T value) {
    thrown = error;
    result.emplace(std::move(value));
    loop.stop();
  });
  loop.restart();
  loop.run();
  if (thrown) std::rethrow_exception(thrown);
  return std::move(*result);
}

}  // namespace kw::test
