// GPUs as the driver shows them, without opening one: the main program links no CUDA.
#pragma once

#include <string>
#include <vector>

namespace kw::verify {

struct Gpu {
  int ordinal = 0;            // among the visible ones, as CUDA counts
  int node = 0;               // N of /dev/nvidiaN
  std::string visible = "0";  // as CUDA_VISIBLE_DEVICES names it
  std::string name;
};

// Those that CUDA_VISIBLE_DEVICES leaves visible.
std::vector<Gpu> visible_gpus();

// The kernel driver's version, or empty.
std::string driver_version();

}  // namespace kw::verify
