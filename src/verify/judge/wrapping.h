// Whether a candidate leaves the reference's work to the kernels that the reference launches itself, and adds
// little of its own: a copy before or after them, or one element.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "verify/judge/player.h"

namespace kw::verify {

// A launch of a call that was replayed with each launch timed by itself.
struct TimedLaunch {
  std::string name;
  std::string cubin_sha256;
  double blocks = 1;  // of its grid
  double time_ms = 0;
};
using TimedLaunches = std::vector<TimedLaunch>;

// Shares of the reference's device time.
struct ReferenceShares {
  double by_library = 0;  // the time of the candidate's library kernels
  double left_out = 0;    // the time of the reference's launches that the candidate does not make
};
// `library`: the candidate's launches of library kernels. Of a kernel that runs fewer blocks in them than in
// the reference, that part of its time is left out. None without a time.
std::optional<ReferenceShares> shares_of_reference(const TimedLaunches& reference,
                                                   const TimedLaunches& library);
bool wraps_reference(const ReferenceShares& shares);

TimedLaunch timed_launch(const wire::LaunchT& launch, double time_ms);

// The time of each launch of a recording, one after another. Other work on the device only adds to a time, so
// of several `passes` the least counts.
async::Task<std::expected<std::vector<double>, ReplayFailure>> launch_times(Player& player,
                                                                            std::uint32_t recording,
                                                                            int passes);

}  // namespace kw::verify
