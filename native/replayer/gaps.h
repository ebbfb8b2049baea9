// The memory of the heap that belongs to no allocation: filled with bytes of a key before a replay, and
// compared with them on the device afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device.h"
#include "verify/messages/message.h"
#include "verify/recording/recording.h"

namespace kw::replayer {

// The committed memory that was never allocated: before the recorded call and within it to nobody, nor to the
// pool of a CUDA graph. Sorted.
std::vector<Extent> gaps_of(const recording::Recording& recording, std::span<const Extent> committed);

// "100 bytes behind output 0 (64 bytes at 0x300000010000)": the nearest allocation.
std::string place_of(CUdeviceptr address, const recording::Recording& recording,
                     std::span<const wire::OutputSpan> outputs);

// The word at this address, a multiple of 8.
std::uint64_t gap_word(std::uint64_t address, std::uint64_t key);

// The kernel that fills and compares. Its zones and its key are parameters, so no kernel can change them.
class GapKernel {
 public:
  static constexpr const char* name = "kw_gaps";
  static constexpr std::size_t zones_a_launch = 128;

  static Outcome<GapKernel> load(const Device& device);

  // Enqueues the fill on the device's stream.
  Outcome<> fill(const Device& device, std::span<const Extent> zones, std::uint64_t key) const;
  // Waits for the device. The least address whose byte is another than the fill's.
  Outcome<std::optional<CUdeviceptr>> changed(const Device& device, std::span<const Extent> zones,
                                              std::uint64_t key) const;

 private:
  Outcome<> run(const Device& device, std::span<const Extent> zones, std::uint64_t key,
                CUdeviceptr found) const;

  Release unload_;
  Release free_;
  CUfunction function_ = nullptr;
  CUdeviceptr found_ = 0;
};

extern const char* const gap_kernel;

}  // namespace kw::replayer
