// Clock: wall time that never jumps. The machine's clock is asked once; from then on time passes as the
// steady clock says.
#pragma once

#include <chrono>
#include <cstdint>

#include "async/loop.h"

namespace kw::service {

class Clock {
 public:
  explicit Clock(std::int64_t now_ms) : began_ms_(now_ms) {}

  static Clock of_this_machine() {
    using namespace std::chrono;
    return Clock(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
  }

  // Since 1970, UTC.
  std::int64_t now_ms() const {
    using namespace std::chrono;
    return began_ms_ + duration_cast<milliseconds>(async::SteadyClock::now() - began_).count();
  }

 private:
  std::int64_t began_ms_;
  async::SteadyClock::time_point began_ = async::SteadyClock::now();
};

}  // namespace kw::service
