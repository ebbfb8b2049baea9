// Restores memory, variables and cache before a replay.
#pragma once

#include <cstdint>

#include "device.h"
#include "slot.h"

namespace kw::replayer {

// Fills all memory with poison, then restores the state, the variables and the uploads as the call found
// them. The work is enqueued on the device's stream; wait for it (settle, or Flush::run) before the replay.
Outcome<> put_back(Device& device, Slot& slot, const Arena& arena);
Outcome<> settle(const Device& device);

// Evicts a replay's data from the L2 cache and leaves no dirty lines, whose write-back would slow the next
// kernels. Waits for the device; its memory is allocated once.
class Flush {
 public:
  Outcome<> run(const Device& device);

 private:
  Release release_;
  CUdeviceptr buffer_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace kw::replayer
