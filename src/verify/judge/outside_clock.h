// Compares the times that the device's events give with clocks of the host. Device code can overwrite the
// stamps of events, but no clock of the host.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "verify/judge/player.h"

namespace kw::verify {

// Samples of one side: the same replays by three clocks. Each time is less the floor of its clock.
struct SampleClocks {
  std::vector<double> device_ms = {};  // by the device's events
  std::vector<double> host_ms = {};    // by the replayer's host clock
  std::vector<double> marked_ms = {};  // by the same between marks, of the replays where it saw both
  std::vector<double> wait_ms = {};    // of a reference: the host's without the subtraction of a floor
  bool alone = false;                  // on the device
};

enum class Side { kernel, reference };

// The samples that may be believed, and the finding if they are not those of the events (else empty). A clock
// of the host replaces the events where these make a kernel faster, or a reference slower, than that clock
// allows. Other processes delay a replay on a shared device, so only samples that were taken alone on it can
// replace others. A single sample can be delayed there too, and its mark can come late.
struct Believed {
  std::vector<double> samples_ms;
  std::string finding;
  ReplayClocks clocks;
};
Believed believe(const SampleClocks& clocks, Side side);

// The greatest host time of a replay that agrees with this device time: from the gate to the end of the wait
// 15% and 6 us more, since the wait takes about 3 us longer after a replay than after an empty recording;
// between the marks 5% and 1.5 us more.
double tolerated_host_ms(double device_ms);
double tolerated_marked_ms(double device_ms);

// Compares a batch's time by the device's events with that by the supervisor's clock, minus one replay with
// its preparation. Other processes can delay the batch.
struct ComparedClocks {
  ClockCheck check;
  std::string finding;  // if the two disagree in each of three tries, else empty
};
async::Task<std::expected<ComparedClocks, ReplayFailure>> compare_clocks(Player& player, double single_ms);

}  // namespace kw::verify
