// Watches the bytes behind allocations: nobody's, so that whoever writes there has gone beyond an end.
#pragma once

#include <string>
#include <vector>

#include "device.h"
#include "recording/recording.h"

namespace kw::replayer {

// What lies behind each allocation of the call and of its state, up to `guard_bytes`, wherever no other
// allocation ever was. Sorted, at most `most_guards` of them.
std::vector<Extent> guarded(const recording::Recording& recording);

class Guards {
 public:
  explicit Guards(const Device& device) : device_(device) {}

  // Keeps a copy on the host, where no kernel can reach it.
  Outcome<> remember(const std::vector<Extent>& zones);
  // Empty, or the words for the first zone that is not as it was.
  Outcome<std::string> overrun() const;

 private:
  Outcome<std::string> read(const Extent& zone) const;

  const Device& device_;
  std::vector<Extent> zones_;
  std::vector<std::string> kept_;
};

}  // namespace kw::replayer
