#include "clock.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kw::replayer {

Outcome<Clock> Clock::make(Device& device) {
  Clock clock(device);
  auto made = device.checked(device.driver().cuEventCreate(&clock.joint_, CU_EVENT_DISABLE_TIMING),
                             "making an event");
  if (!made) return infrastructure(made.error().error);
  return clock;
}

Clock::Clock(Clock&& other) noexcept
    : device_(other.device_),
      events_(std::move(other.events_)),
      joint_(std::exchange(other.joint_, nullptr)),
      floor_ms_(other.floor_ms_),
      found_at_work_(other.found_at_work_) {}

Clock::~Clock() {
  for (CUevent each : events_) device_.driver().cuEventDestroy(each);
  if (joint_ != nullptr) device_.driver().cuEventDestroy(joint_);
}

Outcome<CUevent> Clock::event(std::size_t index) {
  while (events_.size() <= index) {
    CUevent event = nullptr;
    auto made = device_.checked(device_.driver().cuEventCreate(&event, CU_EVENT_DEFAULT), "making an event");
    if (!made) return infrastructure(made.error().error);
    events_.push_back(event);
  }
  return events_[index];
}

Outcome<double> Clock::between_ms(CUevent begin, CUevent end) const {
  float ms = 0;
  auto read =
      device_.checked(device_.driver().cuEventElapsedTime(&ms, begin, end), "reading the device's clock");
  if (!read) return std::unexpected(read.error());
  return std::max(0.0, static_cast<double>(ms) - floor_ms_);
}

Outcome<> Clock::find_floor_at_work(CUstream stream) {
  return std::exchange(found_at_work_, true) ? Outcome<>{} : find_floor(stream);
}

Outcome<> Clock::find_floor(CUstream stream) {
  constexpr std::size_t tries = 64;  // a single one reads in steps of the device's clock
  const driver::Driver& driver = device_.driver();
  auto begin = event(0);
  auto end = event(1);
  if (!begin || !end) return infrastructure("no events can be made");
  const double before_ms = std::exchange(floor_ms_, 0);
  std::vector<double> found;
  for (std::size_t i = 0; i < tries; ++i) {
    auto done =
        in_turn([&] { return device_.checked(device_.gate().close(stream), "closing the gate"); },
                [&] { return device_.checked(driver.cuEventRecord(*begin, stream), "timing nothing"); },
                [&] { return device_.checked(driver.cuEventRecord(*end, stream), "timing nothing"); });
    device_.gate().open();
    if (done) done = device_.checked(driver.cuStreamSynchronize(stream), "timing nothing");
    auto ms = done ? between_ms(*begin, *end) : std::unexpected(done.error());
    if (!ms) return infrastructure(ms.error().error);
    found.push_back(*ms);
  }
  std::ranges::sort(found);
  floor_ms_ = std::reduce(found.begin() + tries / 4, found.end() - tries / 4) / (tries - 2.0 * (tries / 4));
  if (before_ms > 0) floor_ms_ = std::min(floor_ms_, before_ms);
  return {};
}

}  // namespace kw::replayer
