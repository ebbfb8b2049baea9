#include "verify/gpu_clocks.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace kw::verify {
namespace {

// The little of NVML's interface that is needed; its numbers have been the same since it exists.
using Handle = struct Opaque*;
constexpr int sm_clock = 1;
constexpr int memory_clock = 2;

struct Nvml {
  int (*init)() = nullptr;
  int (*device)(unsigned, Handle*) = nullptr;
  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*reasons)(Handle, unsigned long long*) = nullptr;
  bool works = false;
};

template <typename Function>
bool find(void* library, const char* name, Function& place) {
  place = reinterpret_cast<Function>(::dlsym(library, name));
  return place != nullptr;
}

Nvml open() {
  Nvml nvml;
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return nvml;
  bool found = find(library, "nvmlInit_v2", nvml.init) &&
               find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.device) &&
               find(library, "nvmlDeviceGetClockInfo", nvml.clock) &&
               find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.reasons);
  nvml.works = found && nvml.init() == 0;
  return nvml;
}

constexpr std::array<std::pair<unsigned long long, const char*>, 7> words{{
    {0x2, "clocks set by an application"},
    {0x4, "power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "synchronised with another GPU"},
    {0x20, "thermal slowdown by software"},
    {0x40, "thermal slowdown by hardware"},
    {0x80, "power brake"},
}};

}  // namespace

std::string throttle_words(unsigned long long reasons) {
  std::string text;
  for (const auto& [bit, word] : words)
    if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

std::optional<Clocks> gpu_clocks(int ordinal) {
  static const Nvml nvml = open();
  // With a list of visible devices its order need not be the driver's.
  if (!nvml.works || ordinal < 0 || std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) return std::nullopt;
  Handle device = nullptr;
  unsigned sm_mhz = 0;
  unsigned memory_mhz = 0;
  unsigned long long reasons = 0;
  if (nvml.device(static_cast<unsigned>(ordinal), &device) != 0 ||
      nvml.clock(device, sm_clock, &sm_mhz) != 0 || nvml.clock(device, memory_clock, &memory_mhz) != 0)
    return std::nullopt;
  Clocks clocks;
  clocks.sm_mhz = sm_mhz;
  clocks.memory_mhz = memory_mhz;
  if (nvml.reasons(device, &reasons) == 0)
    if (std::string text = throttle_words(reasons); !text.empty()) clocks.throttle = text;
  return clocks;
}

}  // namespace kw::verify
