// The device's clock: pairs of events, and events between streams.
#pragma once

#include <vector>

#include "device.h"

namespace kw::replayer {

class Clock {
 public:
  static Outcome<Clock> make(Device& device);
  ~Clock();
  Clock(Clock&& other) noexcept;
  Clock& operator=(Clock&&) = delete;

  // Timed events; more are made as they are asked for.
  Outcome<CUevent> event(std::size_t index);
  // An event without a time, for one stream to wait for another.
  CUevent joint() const { return joint_; }

  // Milliseconds between two events that have come, less what nothing at all takes; never below 0.
  Outcome<double> between_ms(CUevent begin, CUevent end) const;
  double floor_ms() const { return floor_ms_; }

  // What two events behind the gate with nothing between them are apart, in the mean of the middle half of
  // some tries. A device that idles reads more than one at work, so it is looked for again then; it never
  // grows, since by then foreign code has run.
  Outcome<> find_floor(CUstream stream);
  // The same, the first time that it is asked for and then never again: it takes as long as many replays.
  Outcome<> find_floor_at_work(CUstream stream);

 private:
  explicit Clock(Device& device) : device_(device) {}

  Device& device_;
  std::vector<CUevent> events_;
  CUevent joint_ = nullptr;
  double floor_ms_ = 0;
  bool found_at_work_ = false;
};

}  // namespace kw::replayer
