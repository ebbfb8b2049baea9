// The order of a recording's operations: the dependencies that streams and events prove, and other orders
// that they allow. A device may reorder independent operations, so a replay may vary their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/recording/recording.h"

namespace kw::recording {

// One operation to enqueue. Events and waits of the host are not steps: they are dependencies.
struct Step {
  std::size_t operation = 0;       // index into the recording's operations
  std::size_t stream = 0;          // index into its streams
  std::vector<std::size_t> after;  // steps of other streams that must have ended, the last of each stream
  bool joined = false;             // the caller's stream (or the host) waits for it
};

// Where the forward pass of a call ends and its backward pass begins. Every step of the latter waits for all
// steps of the former, and the caller's stream waits for them too.
struct Split {
  std::size_t at = 0;   // the first step of the backward pass; the number of steps: there is none
  std::string why_not;  // why the passes cannot be told apart; empty: they can
};

struct Plan {
  std::vector<Step> steps;   // in recorded order, which is a valid one
  std::size_t unjoined = 0;  // steps that nothing waits for: a race in the call itself
  bool open = false;         // some pair of steps may run in either order
  Split split;
};

// Follows CUDA's rules: a stream is in order; an event wait depends on the operations before the event's
// last record; the legacy default stream and blocking streams wait for each other; after a wait of the host,
// all later operations depend on the waited ones. The caller's stream is streams[0].
Plan plan(const Recording& recording);

// The order in which the steps of a stream run as late as the dependencies allow: each only when no joined
// step of another stream can run before it. So every joined step of another stream that need not follow a
// step of this one runs before it. Unjoined steps come last.
std::vector<std::size_t> late(const Plan& plan, std::size_t stream);

// The streams whose late orders differ from one another and from the recorded order. These orders and the
// recorded one run any two joined steps of different streams in each order that the dependencies allow them,
// unless more than `most_late` differ: then the first ones. Never empty if steps are unjoined.
inline constexpr std::size_t most_late = 16;
std::vector<std::size_t> late_streams(const Plan& plan);

// Exchanges of neighbours lead from the recorded order, unjoined steps last, to the late order of a stream.
// The dependencies allow every order between the two. The number of exchanges; 0 for a plan of more than
// `most_exchanged` steps.
inline constexpr std::size_t most_exchanged = 4096;
std::uint64_t exchanges(const Plan& plan, std::size_t stream);

struct Exchanged {
  std::vector<std::size_t> order;
  std::optional<std::pair<std::size_t, std::size_t>> last;  // the steps of the last exchange, as recorded
};
// The order after that many exchanges.
Exchanged exchanged(const Plan& plan, std::size_t stream, std::uint64_t count);

}  // namespace kw::recording
