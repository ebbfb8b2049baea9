#include "verify/clock_floor.h"

#include "verify/statistics.h"

namespace kw::verify {

namespace {

constexpr std::size_t most_kept = 64;

}  // namespace

void ClockFloor::add(double ms) {
  latest_.push_back(ms);
  if (latest_.size() > most_kept) latest_.pop_front();
}

double ClockFloor::ms() const {
  return midmean({latest_.begin(), latest_.end()});
}

}  // namespace kw::verify
