// Spawner: starts coroutines that keep alive what they work on.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <memory>

#include "async/loop.h"

namespace kw::service {

class Spawner {
 public:
  explicit Spawner(async::Loop& loop) : loop_(loop) {}

  void keeps_alive(std::weak_ptr<void> owner) { owner_ = std::move(owner); }
  async::Loop& loop() const { return loop_; }

  void operator()(async::Task<> task) const {
    boost::asio::co_spawn(loop_, std::move(task), [owner = owner_.lock()](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
  }

 private:
  async::Loop& loop_;
  std::weak_ptr<void> owner_;
};

}  // namespace kw::service
