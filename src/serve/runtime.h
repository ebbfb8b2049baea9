// Clock: wall time without jumps. Spawner: starts coroutines and keeps their objects alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "base/async/loop.h"

namespace kw::service {

// Clock: wall time without jumps. It reads the system clock once and then follows the steady clock.
class Clock {
 public:
  explicit Clock(std::int64_t now_ms) : began_ms_(now_ms) {}

  static Clock of_this_machine() {
    using namespace std::chrono;
    return Clock(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
  }

  // Milliseconds since 1970, UTC.
  std::int64_t now_ms() const {
    using namespace std::chrono;
    return began_ms_ + duration_cast<milliseconds>(async::SteadyClock::now() - began_).count();
  }

 private:
  std::int64_t began_ms_;
  async::SteadyClock::time_point began_ = async::SteadyClock::now();
};

// Spawner: starts coroutines and keeps their objects alive.
class Spawner {
 public:
  explicit Spawner(async::Loop& loop) : loop_(loop) {}

  void keeps_alive(std::weak_ptr<void> owner) { owner_ = std::move(owner); }
  async::Loop& loop() const { return loop_; }

  void operator()(async::Task<> task) const {
    async::spawn(loop_, std::move(task), [owner = owner_.lock()](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
  }

 private:
  async::Loop& loop_;
  std::weak_ptr<void> owner_;
};

}  // namespace kw::service
