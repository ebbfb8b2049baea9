// A device as the replayer holds it from its start on: a context, the recorder's range of addresses, a gate,
// a stream for what is done around a replay. All that a waiting process can have paid for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device_memory.h"
#include "gate.h"

namespace kw::replayer {

class Device {
 public:
  static Outcome<std::unique_ptr<Device>> open(const driver::Driver& driver, int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const driver::Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  std::uint64_t page_bytes() const { return page_bytes_; }
  std::uint64_t l2_bytes() const { return l2_bytes_; }
  unsigned compute_capability() const { return compute_capability_; }  // 90
  CUstream stream() const { return stream_; }
  Gate& gate() { return *gate_; }
  Extent heap() const { return heap_.extent(); }

  Outcome<> checked(CUresult result, std::string_view what) const {
    return replayer::checked(driver_, result, what);
  }

  // Memory behind these parts of the heap; what has some already keeps it. Out of memory: unsupported.
  Outcome<> commit(std::vector<Extent> spans);
  std::span<const Extent> committed() const { return committed_; }
  void give_heap_back();

 private:
  Device(const driver::Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}
  Outcome<> prepare();
  Outcome<> fits(std::uint64_t bytes) const;

  const driver::Driver& driver_;
  int ordinal_ = 0;
  std::uint64_t page_bytes_ = 0;
  std::uint64_t l2_bytes_ = 0;
  unsigned compute_capability_ = 0;
  CUstream stream_ = nullptr;
  std::unique_ptr<Gate> gate_;
  Reserved heap_;
  std::vector<Extent> committed_;
  std::vector<Mapped> chunks_;  // after what they lie in: they go first
};

}  // namespace kw::replayer
