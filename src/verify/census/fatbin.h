// The cubins in a shared library: nvcc embeds them in fat binaries, one entry for each architecture.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace kw::census {

using Bytes = std::span<const std::uint8_t>;

// How many entries were read, and how many could not be.
struct FatbinCount {
  std::size_t cubins = 0;
  std::size_t unreadable = 0;
};

// Calls `each` with every cubin in the file that a GPU of this compute capability (90) can run: one of the
// same major version, and of no later minor version. PTX is left out: the driver compiles it when it is
// loaded. One cubin is in memory at a time. A damaged entry is counted, and the next fat binary is read.
FatbinCount for_each_cubin(Bytes file, unsigned capability, const std::function<void(Bytes)>& each);

}  // namespace kw::census
