// Workbench: threads for work that would block the loop, such as parsing a body of megabytes.
#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/async/loop.h"

namespace kw::async {

class Workbench {
 public:
  Workbench() : Workbench(1) {}
  explicit Workbench(std::size_t threads) : pool_(threads) {}

  // The work's result, computed on a thread. Works begin in the order of the calls; with one thread, each
  // begins after the end of the one before. Referenced objects must outlive the work; close() waits for it.
  // An exception of the work becomes a std::runtime_error here.
  template <typename T>
  Task<T> result_of(std::move_only_function<T()> work) {
    auto result = std::make_shared<std::optional<T>>();
    auto failed = co_await elsewhere([this, result, work = std::move(work)](Done done) mutable {
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

  // The same; runs small work on the caller's thread, since a change of threads costs more.
  template <typename T>
  Task<T> result_of(std::size_t bytes, std::move_only_function<T()> work) {
    if (bytes <= few_bytes) co_return work();
    co_return co_await result_of<T>(std::move(work));
  }

  void close() { pool_.join(); }

 private:
  static constexpr std::size_t few_bytes = std::size_t{256} << 10;
  boost::asio::thread_pool pool_;
};

}  // namespace kw::async
