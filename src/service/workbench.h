// Workbench: a thread beside the loop for what would hold everybody up, such as a body of megabytes.
#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "async/elsewhere.h"

namespace kw::service {

class Workbench {
 public:
  // The work's result. Where it concerns few bytes it is done here and now: a change of threads costs more.
  // What the work refers to must outlive it; close() waits for it.
  template <typename T>
  async::Task<T> result_of(std::size_t bytes, std::move_only_function<T()> work) {
    if (bytes <= few_bytes) co_return work();
    auto result = std::make_shared<std::optional<T>>();
    auto failed = co_await async::elsewhere([this, result, work = std::move(work)](async::Done done) mutable {
      boost::asio::post(pool_, [result, work = std::move(work), done = std::move(done)]() mutable {
        std::optional<Error> error;
        try {
          result->emplace(work());
        } catch (const std::exception& thrown) {
          error = Error{thrown.what(), {}};
        }
        done(std::move(error));
      });
    });
    if (failed) throw std::runtime_error(failed->what);
    co_return std::move(**result);
  }

  void close() { pool_.join(); }

 private:
  static constexpr std::size_t few_bytes = std::size_t{256} << 10;
  boost::asio::thread_pool pool_{1};
};

}  // namespace kw::service
