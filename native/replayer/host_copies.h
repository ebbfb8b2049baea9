// What a call brought to the device from the host, and what it took to the host, in page-locked memory.
#pragma once

#include <span>
#include <unordered_map>

#include "device_memory.h"
#include "recording/recording.h"

namespace kw::replayer {

class HostCopies {
 public:
  static Outcome<HostCopies> make(const driver::Driver& driver, const recording::Recording& recording);

  // Kernels reach page-locked memory too: before each replay the uploads are written anew, the downloads
  // spoilt.
  void refill();
  // The bytes of an upload or download; `operation` is one.
  std::span<char> of(std::size_t operation) const;
  // Whether the host saw what it saw when the call was recorded.
  bool downloads_equal() const;
  std::size_t downloads() const { return downloads_; }

 private:
  struct Copy {
    std::span<const std::uint8_t> recorded;  // within the recording
    std::size_t at = 0;
    bool upload = false;
  };

  Pinned memory_;
  std::unordered_map<std::size_t, Copy> copies_;
  std::size_t downloads_ = 0;
};

}  // namespace kw::replayer
