// GPUs as the driver shows them, without opening one; their clocks; and the least time of a GPU's memory
// traffic.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types/verdict.h"

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

struct DeviceMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  // of all programs
};

struct ProcessMemory {
  pid_t pid = 0;  // in this program's PID namespace, where the driver knows it
  std::uint64_t bytes = 0;
};

// Reads the memory of one device.
class DeviceMemoryReader {
 public:
  DeviceMemoryReader() = default;
  virtual ~DeviceMemoryReader() = default;
  DeviceMemoryReader(const DeviceMemoryReader&) = delete;
  DeviceMemoryReader& operator=(const DeviceMemoryReader&) = delete;

  virtual std::optional<DeviceMemory> memory() = 0;
  // Empty where the driver lists no processes, as in some containers. A number may be one of another PID
  // namespace.
  virtual std::vector<ProcessMemory> processes() = 0;
};

// By NVML; null if it is missing or does not know the GPU.
std::unique_ptr<DeviceMemoryReader> memory_reader(const Gpu& gpu);
// Read once; empty if NVML is missing or does not know the GPU.
std::optional<DeviceMemory> device_memory(const Gpu& gpu);

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
