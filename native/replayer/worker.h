// Answers the supervisor's requests one after another, and probes a device for `kernelwright doctor`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/files.h"
#include "driver.h"
#include "player.h"
#include "slot.h"

namespace kw::replayer {

// Whether the replayer's clock is used. A tool may not let work wait behind a gate.
enum class Timing { measured, none };

// Answers the supervisor's requests, one after another.
class Worker {
 public:
  // Creates the context and reserves addresses, so that a spare process has done both before its first
  // request.
  static Outcome<std::unique_ptr<Worker>> start(const driver::Driver& driver, int ordinal,
                                                Timing timing = Timing::measured);
  ~Worker();

  // Returns the reply's packet.
  std::string answer(const wire::BodyUnion& request, const std::vector<Fd>& fds);

  // True after a kernel broke the context: the process is unusable then.
  bool spent() const { return spent_; }

 private:
  Worker(std::unique_ptr<Device> device, Clock clock, GapKernel gaps)
      : device_(std::move(device)), clock_(std::move(clock)), gaps_(std::move(gaps)) {}
  Outcome<wire::ReplayableT> load(const wire::LoadRecordingT& request, const std::vector<Fd>& fds);
  Outcome<wire::ReplayedT> replay(const wire::ReplayT& request);
  void check_context();

  std::unique_ptr<Device> device_;
  Clock clock_;
  Flush flush_;
  GapKernel gaps_;
  std::optional<Arena> arena_;
  std::map<std::uint32_t, std::unique_ptr<Slot>> slots_;
  bool spent_ = false;
};

// The reply to the supervisor about a recording that can be replayed.
wire::ReplayableT replayable(const Slot& slot);

// Encodes the reply as one packet, with as many of the first launches as fit.
std::string fitting(wire::ReplayableT reply);

// Tests whether a device supports replays, for `kernelwright doctor`.
struct Probe {
  std::string json;     // one line: the facts found
  std::string missing;  // empty if replays work
};

Probe probe(const driver::Driver& driver, int ordinal);

}  // namespace kw::replayer
