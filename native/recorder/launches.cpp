#include "launches.h"

#include <algorithm>
#include <cstring>

#include "calls.h"
#include "tape.h"
#include "verify/recording/recording.h"

namespace kw::recorder {
namespace {

constexpr std::size_t most_parameter_bytes = 32U << 10U;

// The offset and size of each parameter, and their total size.
std::vector<recording::Parameter> layout_of(CUfunction function, std::size_t& total) {
  std::vector<recording::Parameter> layout;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  total = 0;
  while (machine().driver.cuFuncGetParamInfo(function, layout.size(), &offset, &bytes) == CUDA_SUCCESS) {
    if (offset > most_parameter_bytes || bytes > most_parameter_bytes) break;
    layout.emplace_back(static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes));
    total = std::max(total, offset + bytes);
  }
  return layout;
}

// `extra` holds pairs of a key and a value: one buffer for all parameters, and its size.
std::vector<std::uint8_t> packed_parameters(void** extra) {
  const void* buffer = nullptr;
  std::size_t bytes = 0;
  for (std::size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[i + 1];
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<const std::size_t*>(extra[i + 1]);
  }
  if (buffer == nullptr || bytes > most_parameter_bytes) return {};
  const auto* start = static_cast<const std::uint8_t*>(buffer);
  return {start, start + bytes};
}

void read_parameters(const LaunchCall& call, CUfunction function, recording::LaunchT& launch) {
  std::size_t total = 0;
  launch.layout = layout_of(function, total);
  if (call.parameters != nullptr) {
    launch.parameters.assign(total, 0);
    for (std::size_t i = 0; i < launch.layout.size(); ++i)
      if (call.parameters[i] != nullptr)
        std::memcpy(launch.parameters.data() + launch.layout[i].offset(), call.parameters[i],
                    launch.layout[i].bytes());
  } else if (call.extra != nullptr) {
    launch.packed = true;
    launch.parameters = packed_parameters(call.extra);
    if (launch.parameters.size() < total) launch.parameters.resize(total);
  }
}

// Attributes that are plain numbers. All others refer to objects of this process or are unknown.
bool repeatable(CUlaunchAttributeID id) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
      return true;
    default:
      return false;
  }
}

void read_attributes(const LaunchCall& call, Launch& out) {
  for (const CUlaunchAttribute& given : call.attributes) {
    if (given.id == CU_LAUNCH_ATTRIBUTE_IGNORE) continue;
    if (!repeatable(given.id)) {
      out.obstacle = std::to_string(static_cast<int>(given.id));
      continue;
    }
    auto kept = std::make_unique<recording::AttributeT>();
    kept->id = static_cast<std::uint32_t>(given.id);
    const auto* value = reinterpret_cast<const std::uint8_t*>(&given.value);
    kept->value.assign(value, value + sizeof given.value);
    out.launch.attributes.push_back(std::move(kept));
  }
}

void read_function(CUfunction function, recording::LaunchT& launch) {
  const driver::Driver& cuda = machine().driver;
  int value = 0;
  if (cuda.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function) ==
      CUDA_SUCCESS)
    launch.max_dynamic_shared_bytes = value;
  if (cuda.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, function) ==
      CUDA_SUCCESS)
    launch.carveout = value;
  if (cuda.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, function) ==
      CUDA_SUCCESS)
    launch.non_portable_cluster = value != 0;
}

// Whether the driver knows the address as memory that a replay does not have: from cudaMalloc, managed, or
// pinned on the host.
bool is_foreign_pointer(const recording::LaunchT& launch, std::size_t at) {
  constexpr std::uint64_t lowest = std::uint64_t{1} << 24;
  constexpr std::uint64_t end = std::uint64_t{1} << 57;
  std::uint64_t word = 0;
  if (at + sizeof word > launch.parameters.size()) return false;
  std::memcpy(&word, launch.parameters.data() + at, sizeof word);
  if (word < lowest || word >= end || tape().ours(word)) return false;
  unsigned kind = 0;
  return machine().driver.cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, word) ==
         CUDA_SUCCESS;
}

// A word in a structure may be padding with old bytes of the stack, so only parameters of a pointer's size
// count as pointers. A real pointer in a structure shows in the replay.
void look_for_foreign_pointers(const recording::LaunchT& launch) {
  for (const recording::Parameter& each : launch.layout)
    if (each.bytes() == sizeof(std::uint64_t) && is_foreign_pointer(launch, each.offset()))
      tape().obstacle("foreign pointer", launch.name);
  if (!launch.layout.empty()) return;
  for (std::size_t at = 0; at < launch.parameters.size(); at += sizeof(std::uint64_t))
    if (is_foreign_pointer(launch, at)) tape().obstacle("foreign pointer", launch.name);
}

LaunchCall plain_launch(const Call& call) {
  const auto& p = call.as<cuLaunchKernel_params>();
  return {.function = p.f,
          .grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
          .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
          .shared_bytes = p.sharedMemBytes,
          .stream = call.stream(p.hStream),
          .parameters = p.kernelParams,
          .extra = p.extra,
          .attributes = {},
          .symbol = call.symbol};
}

LaunchCall launch_with_attributes(const Call& call) {
  const auto& p = call.as<cuLaunchKernelEx_params>();
  const CUlaunchConfig& config = *p.config;
  LaunchCall launch{.function = p.f,
                    .grid = {config.gridDimX, config.gridDimY, config.gridDimZ},
                    .block = {config.blockDimX, config.blockDimY, config.blockDimZ},
                    .shared_bytes = config.sharedMemBytes,
                    .stream = call.stream(config.hStream),
                    .parameters = p.kernelParams,
                    .extra = p.extra,
                    .attributes = {},
                    .symbol = call.symbol};
  if (config.attrs != nullptr) launch.attributes.assign(config.attrs, config.attrs + config.numAttrs);
  return launch;
}

LaunchCall cooperative_launch(const Call& call) {
  const auto& p = call.as<cuLaunchCooperativeKernel_params>();
  CUlaunchAttribute together{};
  together.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  together.value.cooperative = 1;
  return {.function = p.f,
          .grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
          .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
          .shared_bytes = p.sharedMemBytes,
          .stream = call.stream(p.hStream),
          .parameters = p.kernelParams,
          .extra = nullptr,
          .attributes = {together},
          .symbol = call.symbol};
}

bool is_launch(const Call& call, LaunchCall& launch) {
  switch (call.id) {
    case KW_ID(cuLaunchKernel):
      launch = plain_launch(call);
      return true;
    case KW_ID(cuLaunchKernelEx):
      launch = launch_with_attributes(call);
      return true;
    case KW_ID(cuLaunchCooperativeKernel):
      launch = cooperative_launch(call);
      return true;
    default:
      return false;
  }
}

}  // namespace

Launch described(const LaunchCall& call) {
  Launch out;
  out.kernel = modules().find(call.function, call.symbol);
  out.launch.name = out.kernel.name;
  out.launch.grid = std::make_unique<recording::Dim>(call.grid);
  out.launch.block = std::make_unique<recording::Dim>(call.block);
  out.launch.shared_bytes = call.shared_bytes;
  read_parameters(call, out.kernel.function, out.launch);
  read_attributes(call, out);
  read_function(out.kernel.function, out.launch);
  return out;
}

void write(CUstream stream, Launch launch) {
  if (launch.kernel.image == nullptr) {
    tape().obstacle("no cubin", launch.launch.name);
    return;
  }
  if (!launch.obstacle.empty()) tape().obstacle("launch attribute", launch.obstacle);
  look_for_foreign_pointers(launch.launch);
  tape().add_launch(stream, std::move(launch.launch), launch.kernel.image);
}

void look_at_globals(const Kernel& kernel) {
  if (kernel.image == nullptr || kernel.module == nullptr || !tape().first_sight(kernel.image)) return;
  const driver::Driver& cuda = machine().driver;
  for (const recording::Variable& variable : recording::variables(kernel.image->bytes)) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (cuda.cuModuleGetGlobal(&address, &bytes, kernel.module, variable.name.c_str()) != CUDA_SUCCESS ||
        bytes == 0)
      continue;
    if (bytes > most_global_bytes) {
      tape().obstacle("large global", variable.name);
      continue;
    }
    recording::GlobalT global;
    global.name = variable.name;
    global.bytes.resize(bytes);
    if (cuda.cuMemcpyDtoH(global.bytes.data(), address, bytes) == CUDA_SUCCESS)
      tape().add_global(kernel.image, std::move(global));
    else
      tape().obstacle("unreadable global", variable.name);
  }
}

void before_launch(const Call& call) {
  LaunchCall launch;
  if (is_launch(call, launch) && !capturing(launch.stream))
    look_at_globals(modules().find(launch.function, launch.symbol));
}

bool write_launch(const Call& call) {
  LaunchCall launch;
  if (!is_launch(call, launch)) return false;
  if (!capturing(launch.stream)) write(launch.stream, described(launch));
  return true;
}

}  // namespace kw::recorder
