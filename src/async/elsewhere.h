// Waiting on the loop for what another thread does.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "async/loop.h"
#include "base/result.h"

namespace kw::async {

using Done = std::move_only_function<void(std::optional<Error>)>;

// Suspends until start(done) has called done(error), on whatever thread; resumes on the loop.
inline Task<std::optional<Error>> elsewhere(std::move_only_function<void(Done)> start) {
  namespace asio = boost::asio;
  auto initiate = [](auto handler, auto begin) {
    auto executor = asio::get_associated_executor(handler);
    begin([handler = std::move(handler), executor,
           busy = asio::make_work_guard(executor)](std::optional<Error> error) mutable {
      asio::post(executor, [handler = std::move(handler), error = std::move(error)]() mutable {
        std::move(handler)(std::move(error));
      });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::optional<Error>)>(
      initiate, asio::use_awaitable, std::move(start));
}

}  // namespace kw::async
