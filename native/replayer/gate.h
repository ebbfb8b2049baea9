// A word of the host's memory for which a stream waits. A replay is enqueued behind it before any of it runs,
// so that the host's pace does not show in its times.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device_memory.h"

namespace kw::replayer {

// Behind a closed gate a stream's queue may fill up, and whoever enqueues more would wait for ever.
inline constexpr std::size_t max_behind_gate = 512;

class Gate {
 public:
  static Outcome<Gate> make(const driver::Driver& driver);

  // What comes onto the stream from now on waits until open().
  CUresult close(CUstream stream);
  void open();
  bool closed() const { return closed_; }

 private:
  explicit Gate(const driver::Driver& driver) : driver_(&driver) {}
  void write(std::uint32_t value);

  const driver::Driver* driver_;
  Pinned word_;
  CUdeviceptr address_ = 0;
  std::uint32_t ticket_ = 0;
  bool closed_ = false;
};

}  // namespace kw::replayer
