#include "verify/judge/devices.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/core/files.h"
#include "base/core/text.h"

namespace kw::verify {
namespace {

namespace fs = std::filesystem;

std::string field(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name)) return std::string(trim(line.substr(line.find(':') + 1)));
  return {};
}

// The n-th GPU's information file belongs to the device whose minor number it names.
std::string name_of_minor(int minor) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", ignored)) {
    auto text = read_file(entry.path() / "information");
    if (text && field(*text, "Device Minor") == std::to_string(minor)) return field(*text, "Model");
  }
  return "NVIDIA GPU";
}

std::vector<int> minors() {
  std::vector<int> found;
  for (int minor = 0; minor < 64; ++minor) {
    struct stat info{};
    if (::stat(fmt::format("/dev/nvidia{}", minor).c_str(), &info) == 0 && S_ISCHR(info.st_mode))
      found.push_back(minor);
  }
  return found;
}

}  // namespace

std::vector<Gpu> visible_gpus() {
  std::vector<int> all = minors();
  std::vector<Gpu> gpus;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) {
    for (int minor : all) {
      auto ordinal = static_cast<int>(gpus.size());
      gpus.push_back({ordinal, minor, std::to_string(ordinal), name_of_minor(minor)});
    }
    return gpus;
  }
  std::istringstream names(visible);
  for (std::string name; std::getline(names, name, ',') && gpus.size() < all.size();) {
    bool number = !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    if (name == "-1") break;  // CUDA stops at the first it does not know
    auto index = number ? static_cast<std::size_t>(std::atoi(name.c_str())) : 0;
    if (index >= all.size()) break;
    gpus.push_back({static_cast<int>(gpus.size()), all[index], name, name_of_minor(all[index])});
  }
  return gpus;
}

std::string driver_version() {
  auto text = read_file("/sys/module/nvidia/version");
  if (text) return std::string(trim(*text));
  auto line = read_file("/proc/driver/nvidia/version");
  if (!line) return {};
  std::istringstream words(*line);
  for (std::string word; words >> word;)
    if (std::ranges::count(word, '.') >= 1 && word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return {};
}

namespace {

// The necessary part of NVML's interface, whose constants have never changed.
using Handle = struct Opaque*;
constexpr int sm_clock = 1;
constexpr int memory_clock = 2;

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
constexpr unsigned long long not_available = ~0ULL;
constexpr unsigned most_processes = 256;

struct Nvml {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Handle*) = nullptr;
  int (*minor)(Handle, unsigned*) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  int (*processes)(Handle, unsigned*, Process*) = nullptr;  // null in drivers before 510
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
               find(library, "nvmlDeviceGetCount_v2", nvml.count) &&
               find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.device) &&
               find(library, "nvmlDeviceGetMinorNumber", nvml.minor) &&
               find(library, "nvmlDeviceGetMemoryInfo", nvml.memory) &&
               find(library, "nvmlDeviceGetClockInfo", nvml.clock) &&
               find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.reasons);
  find(library, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes);
  nvml.works = found && nvml.init() == 0;
  return nvml;
}

const Nvml& nvml() {
  static const Nvml opened = open();
  return opened;
}

constexpr std::array<std::pair<unsigned long long, const char*>, 7> reason_words{{
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
  for (const auto& [bit, word] : reason_words)
    if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

namespace {

// Null if NVML does not know the GPU.
Handle handle_of(const Gpu& gpu) {
  unsigned count = 0;
  if (!nvml().works || nvml().count(&count) != 0) return nullptr;
  for (unsigned index = 0; index < count; ++index) {
    Handle device = nullptr;
    unsigned minor = 0;
    if (nvml().device(index, &device) == 0 && nvml().minor(device, &minor) == 0 &&
        static_cast<int>(minor) == gpu.node)
      return device;
  }
  return nullptr;
}

class NvmlMemory : public DeviceMemoryReader {
 public:
  explicit NvmlMemory(Handle device) : device_(device) {}

  std::optional<DeviceMemory> memory() override {
    Memory memory{};
    if (nvml().memory(device_, &memory) != 0) return std::nullopt;
    return DeviceMemory{.total_bytes = memory.total, .free_bytes = memory.free};
  }

  std::vector<ProcessMemory> processes() override {
    std::vector<ProcessMemory> found;
    if (nvml().processes == nullptr) return found;
    std::array<Process, most_processes> list{};
    unsigned count = most_processes;
    if (nvml().processes(device_, &count, list.data()) != 0) return found;
    for (unsigned each = 0; each < std::min(count, most_processes); ++each)
      if (list[each].used_bytes != not_available)
        found.push_back({static_cast<pid_t>(list[each].pid), list[each].used_bytes});
    return found;
  }

 private:
  Handle device_;
};

}  // namespace

std::unique_ptr<DeviceMemoryReader> memory_reader(const Gpu& gpu) {
  Handle device = handle_of(gpu);
  return device == nullptr ? nullptr : std::make_unique<NvmlMemory>(device);
}

std::optional<DeviceMemory> device_memory(const Gpu& gpu) {
  const auto reader = memory_reader(gpu);
  return reader ? reader->memory() : std::nullopt;
}

std::optional<Clocks> gpu_clocks(int ordinal) {
  // With CUDA_VISIBLE_DEVICES set, CUDA's order may differ from the driver's.
  if (!nvml().works || ordinal < 0 || std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) return std::nullopt;
  Handle device = nullptr;
  unsigned sm_mhz = 0;
  unsigned memory_mhz = 0;
  unsigned long long reasons = 0;
  if (nvml().device(static_cast<unsigned>(ordinal), &device) != 0 ||
      nvml().clock(device, sm_clock, &sm_mhz) != 0 || nvml().clock(device, memory_clock, &memory_mhz) != 0)
    return std::nullopt;
  Clocks clocks;
  clocks.sm_mhz = sm_mhz;
  clocks.memory_mhz = memory_mhz;
  if (nvml().reasons(device, &reasons) == 0)
    if (std::string text = throttle_words(reasons); !text.empty()) clocks.throttle = text;
  return clocks;
}

namespace {

// Peak memory bandwidth in bytes per second, from the vendor's data sheets; longer names come first.
constexpr std::array<std::pair<std::string_view, double>, 12> peaks{{
    {"B200", 8.0e12},
    {"GH200", 4.0e12},
    {"H200", 4.8e12},
    {"H100 PCIe", 2.0e12},
    {"H100", 3.35e12},
    {"A100-SXM4-80GB", 2.04e12},
    {"A100", 1.94e12},
    {"L40S", 0.864e12},
    {"RTX 5090", 1.79e12},
    {"RTX 4090", 1.01e12},
    {"RTX 3090", 0.936e12},
    {"A10G", 0.6e12},
}};

}  // namespace

std::optional<double> least_traffic_ms(std::string_view gpu, std::uint64_t bytes) {
  for (const auto& [name, bytes_per_s] : peaks)
    if (gpu.find(name) != std::string_view::npos) return static_cast<double>(bytes) / bytes_per_s * 1000.0;
  return std::nullopt;
}

}  // namespace kw::verify
