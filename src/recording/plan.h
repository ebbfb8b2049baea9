// In which order the operations of a recording must run: the dependencies that streams and events prove. What
// they leave open may happen in any order on a device, so a replay may vary it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recording/recording.h"

namespace kw::recording {

// One thing to enqueue. Events and waits of the host are not steps: they became dependencies.
struct Step {
  std::size_t operation = 0;       // index into the recording's operations
  std::size_t stream = 0;          // index into its streams
  std::vector<std::size_t> after;  // steps of other streams that must have ended, of each its last
  bool joined = false;             // the caller's stream (or the host) waits for it
};

struct Plan {
  std::vector<Step> steps;   // in recorded order, which is a valid one
  std::size_t unjoined = 0;  // steps that nobody waits for: a race of the call's own
  bool open = false;         // some pair of steps may come in either order
};

// Follows CUDA's rules: a stream is in order; an event wait waits for what the event's last record saw; the
// legacy default stream and blocking streams wait for one another; after a wait of the host everything that
// it enqueues comes later. The caller's stream is streams[0].
Plan plan(const Recording& recording);

// Another order that the dependencies allow too: as unlike the recorded one as possible, all on one stream.
// Steps that are not joined come last.
std::vector<std::size_t> reversed(const Plan& plan);

}  // namespace kw::recording
