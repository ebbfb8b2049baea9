// What nothing at all takes on a device, by the events that time a replay. A process reads it in steps of the
// device's clock (32 ns on an H200), some above and some below, and its replays are not slower for it; so
// what is taken off a time is the mean of many processes' readings.
#pragma once

#include <cstddef>
#include <deque>

namespace kw::verify {

class ClockFloor {
 public:
  void add(double ms);
  // The mean of the middle half of the latest; 0 before there are any.
  double ms() const;

 private:
  std::deque<double> latest_;
};

}  // namespace kw::verify
