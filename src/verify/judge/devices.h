// GPUs as the driver shows them, without opening one; their clocks; and the least time of a GPU's memory
// traffic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types/verdict.h"
#include "verify/judge/memory_guard.h"

namespace kw::verify {

// GPUs as the driver lists them, without opening one: the main program links no CUDA.
struct Gpu {
  int ordinal = 0;            // among the visible ones, as CUDA counts
  int node = 0;               // N of /dev/nvidiaN
  std::string visible = "0";  // as CUDA_VISIBLE_DEVICES names it
  std::string name;
};

// The GPUs that CUDA_VISIBLE_DEVICES leaves visible.
std::vector<Gpu> visible_gpus();

// The size of its memory; 0 if NVML is missing or does not know the GPU.
std::uint64_t memory_bytes(const Gpu& gpu);

// Reads the GPU's memory through NVML; null if NVML is missing or does not know the GPU.
std::unique_ptr<DeviceMemory> device_memory(const Gpu& gpu);

// The kernel driver's version, or empty.
std::string driver_version();

// Of the CUDA device with this ordinal; empty if the library is missing or gives no answer.
std::optional<Clocks> gpu_clocks(int ordinal);

// The driver's reasons for slower clocks except idleness, as text: "power cap, thermal"; empty for none.
std::string throttle_words(unsigned long long reasons);

// The least time in milliseconds in which a GPU of this name can move these bytes through its memory, by the
// vendor's peak bandwidth; empty for an unknown GPU.
std::optional<double> least_traffic_ms(std::string_view gpu, std::uint64_t bytes);

}  // namespace kw::verify
