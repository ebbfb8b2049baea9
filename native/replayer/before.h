// What is put right before a replay: memory, variables, cache.
#pragma once

#include "slot.h"

namespace kw::replayer {

// Poison everywhere, then the state, the variables and the uploads as the call found them, enqueued on the
// device's stream. Whoever replays next must have waited for it (settle, or Flush::run).
Outcome<> put_back(Device& device, Slot& slot, const Arena& arena);
Outcome<> settle(const Device& device);

// Leaves nothing of a replay in the L2 cache, and no line in it that must still be written: kernels that come
// next would pay for that. Waits for the device; the memory for it is allocated once.
class Flush {
 public:
  Outcome<> run(const Device& device);

 private:
  Release release_;
  CUdeviceptr buffer_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace kw::replayer
