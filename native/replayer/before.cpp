#include "before.h"

#include <algorithm>

namespace kw::replayer {
namespace {

// Fills `to` with the pattern at `from`: copies it once, then doubles the copied part.
Outcome<> tile(const Device& device, Extent to, Extent from) {
  const driver::Driver& driver = device.driver();
  // A multiple of every element's size keeps the pattern's elements whole.
  constexpr std::uint64_t grain = 256;
  std::uint64_t pattern = from.bytes >= grain ? from.bytes / grain * grain : from.bytes;
  std::uint64_t laid = std::min(pattern, to.bytes);
  Outcome<> done = device.checked(driver.cuMemcpyDtoDAsync(to.address, from.address, laid, device.stream()),
                                  "laying poison");
  while (done && laid < to.bytes) {
    std::uint64_t more = std::min(laid, to.bytes - laid);
    done = device.checked(driver.cuMemcpyDtoDAsync(to.address + laid, to.address, more, device.stream()),
                          "laying poison");
    laid += more;
  }
  return done;
}

Outcome<> poison(const Device& device, const Slot& slot, const Arena& arena) {
  Extent pattern{arena.address() + slot.outputs_offset(), arena.bytes - slot.outputs_offset()};
  constexpr unsigned char nan_byte = 0xFF;
  for (const Extent& each : device.committed()) {
    CUresult result = CUDA_SUCCESS;
    if (pattern.bytes == 0)
      result = device.driver().cuMemsetD8Async(each.address, nan_byte, each.bytes, device.stream());
    else if (auto laid = tile(device, each, pattern); !laid)
      return laid;
    if (auto done = device.checked(result, "laying poison"); !done) return done;
  }
  return {};
}

}  // namespace

Outcome<> put_back(Device& device, Slot& slot, const Arena& arena) {
  slot.host().refill();
  return in_turn([&] { return poison(device, slot, arena); }, [&] { return slot.restore_state(); },
                 [&] { return slot.program().restore_variables(device.driver(), device.stream()); });
}

Outcome<> settle(const Device& device) {
  return device.checked(device.driver().cuCtxSynchronize(), "putting memory back");
}

Outcome<> Flush::run(const Device& device) {
  const driver::Driver& driver = device.driver();
  constexpr std::uint64_t least_bytes = std::uint64_t{256} << 20;
  constexpr std::uint64_t chunk_bytes = std::uint64_t{4} << 20;
  if (buffer_ == 0) {
    // One half is written, the other only read.
    std::uint64_t half = std::max(least_bytes / 2, device.l2_bytes() * 2);
    bytes_ = (half + chunk_bytes - 1) / chunk_bytes * chunk_bytes * 2;
    if (auto made = device.checked(driver.cuMemAlloc(&buffer_, bytes_), "allocating what flushes the cache");
        !made)
      return infrastructure(made.error().error);
    release_ = Release([&driver, buffer = buffer_] { driver.cuMemFree(buffer); });
  }
  CUstream stream = device.stream();
  CUdeviceptr clean = buffer_;
  CUdeviceptr dirty = buffer_ + bytes_ / 2;
  // This context never set aside a part of the cache for persisting accesses, so all of it can be evicted.
  Outcome<> done = device.checked(driver.cuMemsetD8Async(dirty, 0, bytes_ / 2, stream), "flushing the cache");
  // Reads the clean half and always writes the same small chunk, so that only this chunk stays dirty.
  for (std::uint64_t at = 0; done && at < bytes_ / 2; at += chunk_bytes)
    done = device.checked(driver.cuMemcpyDtoDAsync(dirty, clean + at, chunk_bytes, stream),
                          "flushing the cache");
  return done ? device.checked(driver.cuStreamSynchronize(stream), "flushing the cache") : done;
}

}  // namespace kw::replayer
