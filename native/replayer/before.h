// Restores memory, variables and cache before a replay, and watches the bytes behind allocations for
// overruns.
#pragma once

#include <string>
#include <vector>

#include "device.h"
#include "slot.h"
#include "verify/recording/recording.h"

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

// The bytes after each allocation of the call and of its state, up to `guard_bytes`, that no other allocation
// ever used. Sorted, at most `most_guards`.
std::vector<Extent> guarded(const recording::Recording& recording);

class Guards {
 public:
  explicit Guards(const Device& device) : device_(device) {}

  // Keeps a copy in host memory that no kernel can access.
  Outcome<> remember(const std::vector<Extent>& zones);
  // Empty, or the description of the first zone that changed.
  Outcome<std::string> overrun() const;

 private:
  Outcome<std::string> read(const Extent& zone) const;

  const Device& device_;
  std::vector<Extent> zones_;
  std::vector<std::string> kept_;
};

}  // namespace kw::replayer
