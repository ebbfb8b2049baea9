#include "recorder_world.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/core/files.h"
#include "heap.h"
#include "session.h"

namespace kw::recorder {
namespace {

World* current = nullptr;

template <typename Handle>
Handle handle(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

void* place(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

// Memory is a memory file; mapping it puts it at the wanted addresses.
void fake_memory(driver::Driver& cuda) {
  cuda.cuMemGetAllocationGranularity = [](size_t* bytes, auto...) -> CUresult {
    *bytes = std::size_t{2} << 20;
    return CUDA_SUCCESS;
  };
  cuda.cuMemAddressReserve = [](CUdeviceptr* out, size_t bytes, size_t, CUdeviceptr hint,
                                unsigned long long) -> CUresult {
    void* got = ::mmap(place(hint), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *out = reinterpret_cast<CUdeviceptr>(got);
    return got == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
  };
  cuda.cuMemAddressFree = [](CUdeviceptr address, size_t bytes) -> CUresult {
    ::munmap(place(address), bytes);
    return CUDA_SUCCESS;
  };
  cuda.cuMemCreate = [](CUmemGenericAllocationHandle* out, size_t bytes, auto...) -> CUresult {
    if (current->out_of_memory) return CUDA_ERROR_OUT_OF_MEMORY;
    int fd = ::memfd_create("device", MFD_CLOEXEC);
    if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = static_cast<CUmemGenericAllocationHandle>(fd);
    return CUDA_SUCCESS;
  };
  cuda.cuMemRelease = [](CUmemGenericAllocationHandle memory) -> CUresult {
    ::close(static_cast<int>(memory));
    return CUDA_SUCCESS;
  };
  cuda.cuMemMap = [](CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle memory,
                     unsigned long long) -> CUresult {
    void* got = ::mmap(place(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                       static_cast<int>(memory), 0);
    return got == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  };
  cuda.cuMemUnmap = [](auto...) -> CUresult { return CUDA_SUCCESS; };
  cuda.cuMemSetAccess = [](auto...) -> CUresult { return CUDA_SUCCESS; };
  cuda.cuStreamCreate = [](CUstream* stream, unsigned) -> CUresult {
    return *stream = World::stream(0x5EED), CUDA_SUCCESS;
  };
  cuda.cuStreamSynchronize = [](CUstream) -> CUresult { return CUDA_SUCCESS; };
  cuda.cuMemsetD32Async = [](CUdeviceptr to, unsigned value, size_t count, CUstream) -> CUresult {
    std::fill_n(static_cast<unsigned*>(place(to)), count, value);
    return CUDA_SUCCESS;
  };
  cuda.cuMemExportToShareableHandle = [](void* out, CUmemGenericAllocationHandle memory,
                                         auto...) -> CUresult {
    *static_cast<int*>(out) = ::dup(static_cast<int>(memory));
    return CUDA_SUCCESS;
  };
  cuda.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) -> CUresult {
    std::memcpy(place(to), place(from), bytes);
    return CUDA_SUCCESS;
  };
  cuda.cuMemcpyDtoH = [](void* to, CUdeviceptr from, size_t bytes) -> CUresult {
    std::memcpy(to, place(from), bytes);
    return CUDA_SUCCESS;
  };
  cuda.cuPointerGetAttribute = [](void* out, CUpointer_attribute attribute, CUdeviceptr address) -> CUresult {
    bool device = current->foreign.contains(address);
    if (!device && !current->pinned.contains(address)) return CUDA_ERROR_INVALID_VALUE;
    unsigned kind = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    *static_cast<unsigned*>(out) = attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? kind : 0;
    return CUDA_SUCCESS;
  };
}

void fake_device(driver::Driver& cuda) {
  cuda.cuGetErrorName = [](CUresult, const char** name) -> CUresult {
    *name = "CUDA_ERROR_OF_A_TEST";
    return CUDA_SUCCESS;
  };
  cuda.cuDriverGetVersion = [](int* version) -> CUresult {
    *version = 13000;
    return CUDA_SUCCESS;
  };
  cuda.cuCtxGetCurrent = [](CUcontext* context) -> CUresult {
    *context = handle<CUcontext>(1);
    return CUDA_SUCCESS;
  };
  cuda.cuCtxGetDevice = [](CUdevice* device) -> CUresult {
    *device = 0;
    return CUDA_SUCCESS;
  };
  cuda.cuDeviceGetName = [](char* name, int bytes, CUdevice) -> CUresult {
    std::strncpy(name, "a fake GPU", static_cast<std::size_t>(bytes));
    return CUDA_SUCCESS;
  };
  cuda.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice) -> CUresult {
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return CUDA_SUCCESS;
  };
  cuda.cuCtxSynchronize = []() -> CUresult {
    current->calls.emplace_back("cuCtxSynchronize");
    return CUDA_SUCCESS;
  };
  cuda.cuStreamSynchronize = [](CUstream) -> CUresult {
    current->calls.emplace_back("cuStreamSynchronize");
    return CUDA_SUCCESS;
  };
  cuda.cuStreamGetFlags = [](CUstream stream, unsigned* flags) -> CUresult {
    *flags = current->non_blocking.contains(stream) ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
    return CUDA_SUCCESS;
  };
  cuda.cuStreamGetPriority = [](CUstream, int* priority) -> CUresult {
    *priority = -1;
    return CUDA_SUCCESS;
  };
  cuda.cuStreamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* status) -> CUresult {
    *status =
        current->capturing.contains(stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
}

void fake_modules(driver::Driver& cuda) {
  cuda.cuFuncGetModule = [](CUmodule* out, CUfunction function) -> CUresult {
    auto found = current->kernels.find(function);
    if (found == current->kernels.end()) return CUDA_ERROR_INVALID_HANDLE;
    *out = found->second.module;
    return CUDA_SUCCESS;
  };
  // A CUkernel is the function's number plus one.
  cuda.cuKernelGetFunction = [](CUfunction* out, CUkernel kernel) -> CUresult {
    auto function = handle<CUfunction>(reinterpret_cast<std::uintptr_t>(kernel) - 1);
    if (!current->kernels.contains(function)) return CUDA_ERROR_INVALID_HANDLE;
    *out = function;
    return CUDA_SUCCESS;
  };
  cuda.cuFuncGetName = [](const char** name, CUfunction function) -> CUresult {
    auto found = current->kernels.find(function);
    if (found == current->kernels.end()) return CUDA_ERROR_INVALID_HANDLE;
    *name = found->second.name.c_str();
    return CUDA_SUCCESS;
  };
  cuda.cuFuncGetParamInfo = [](CUfunction function, size_t index, size_t* offset, size_t* bytes) -> CUresult {
    auto found = current->kernels.find(function);
    if (found == current->kernels.end() || index >= found->second.sizes.size())
      return CUDA_ERROR_INVALID_VALUE;
    *offset = 0;
    for (std::size_t i = 0; i <= index; ++i) {
      *bytes = found->second.sizes[i];
      *offset = (*offset + *bytes - 1) / *bytes * *bytes;
      if (i < index) *offset += *bytes;
    }
    return CUDA_SUCCESS;
  };
  cuda.cuFuncGetAttribute = [](int* value, CUfunction_attribute attribute, CUfunction) -> CUresult {
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? 49152 : 0;
    return CUDA_SUCCESS;
  };
  cuda.cuModuleGetGlobal = [](CUdeviceptr* address, size_t* bytes, CUmodule module,
                              const char* name) -> CUresult {
    auto& variables = current->globals[module];
    auto found = variables.find(name);
    if (found == variables.end()) return CUDA_ERROR_NOT_FOUND;
    *address = reinterpret_cast<CUdeviceptr>(found->second.data());
    *bytes = found->second.size();
    return CUDA_SUCCESS;
  };
}

const FakeNode& node_of(CUgraphNode node) {
  return current->nodes.at(reinterpret_cast<std::uintptr_t>(node) - 1);
}

void fake_graphs(driver::Driver& cuda) {
  cuda.cuGraphGetNodes = [](CUgraph, CUgraphNode* out, size_t* count) -> CUresult {
    if (out != nullptr)
      for (std::size_t i = 0; i < *count; ++i) out[i] = handle<CUgraphNode>(i + 1);
    *count = current->nodes.size();
    return CUDA_SUCCESS;
  };
  cuda.cuGraphGetEdges = [](CUgraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData*,
                            size_t* count) -> CUresult {
    for (std::size_t i = 0; from != nullptr && i < *count; ++i) {
      from[i] = handle<CUgraphNode>(current->edges[i].first + 1);
      to[i] = handle<CUgraphNode>(current->edges[i].second + 1);
    }
    *count = current->edges.size();
    return CUDA_SUCCESS;
  };
  cuda.cuGraphNodeGetType = [](CUgraphNode node, CUgraphNodeType* type) -> CUresult {
    *type = node_of(node).type;
    return CUDA_SUCCESS;
  };
  cuda.cuGraphKernelNodeGetParams = [](CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* out) -> CUresult {
    *out = node_of(node).kernel;
    return CUDA_SUCCESS;
  };
  cuda.cuGraphKernelNodeGetAttribute = [](auto...) -> CUresult { return CUDA_ERROR_INVALID_VALUE; };
  cuda.cuGraphMemcpyNodeGetParams = [](CUgraphNode node, CUDA_MEMCPY3D* out) -> CUresult {
    *out = node_of(node).copy;
    return CUDA_SUCCESS;
  };
  cuda.cuGraphMemsetNodeGetParams = [](CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out) -> CUresult {
    *out = node_of(node).fill;
    return CUDA_SUCCESS;
  };
}

void fake_cupti(Cupti& cupti) {
  cupti.cuptiSubscribe = [](CUpti_SubscriberHandle* out, auto...) -> CUptiResult {
    *out = handle<CUpti_SubscriberHandle>(1);
    return CUPTI_SUCCESS;
  };
  cupti.cuptiEnableCallback = [](auto...) -> CUptiResult { return CUPTI_SUCCESS; };
  cupti.cuptiEnableDomain = [](std::uint32_t on, auto...) -> CUptiResult {
    current->calls.emplace_back(on != 0 ? "everything" : "the usual");
    return CUPTI_SUCCESS;
  };
}

// New in every test of a process, as the recorder never forgets an image or a module.
std::uintptr_t next_handle() {
  static std::uintptr_t last = 0x1000;
  return last += 16;
}

}  // namespace

World::World() {
  current = this;
  Machine& all = machine();
  fake_memory(all.driver);
  fake_device(all.driver);
  fake_modules(all.driver);
  fake_graphs(all.driver);
  fake_cupti(all.cupti);
  all.has_driver = true;
  subscribe();
  was_called();
}

World::~World() {
  kwrec_drop();
  for (const Allocation& block : heap().allocations()) heap().free(block.address);
  current = nullptr;
}

CUfunction World::load(const std::string& kernel, std::vector<std::size_t> sizes,
                       const std::vector<std::pair<std::string, std::string>>& variables) {
  recording::ImageParts parts{.kernels = {kernel}, .globals = {}};
  auto module = handle<CUmodule>(next_handle());
  for (const auto& [name, bytes] : variables) {
    parts.globals.emplace_back(name, bytes.size());
    globals[module][name] = bytes;
  }
  recording::Image image = recording::image_of(parts);
  cuModuleLoadData_params p{&module, image.data()};
  told(CUPTI_API_ENTER, KW_ID(cuModuleLoadData), "cuModuleLoadData", &p, CUDA_SUCCESS);
  CUpti_ModuleResourceData loaded{};
  loaded.pCubin = reinterpret_cast<const char*>(image.data());
  loaded.cubinSize = image.size();
  CUpti_ResourceData resource{};
  resource.resourceDescriptor = &loaded;
  on_callback(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &resource);
  told(CUPTI_API_EXIT, KW_ID(cuModuleLoadData), "cuModuleLoadData", &p, CUDA_SUCCESS);
  auto function = handle<CUfunction>(next_handle());
  kernels[function] = {module, kernel, std::move(sizes)};
  return function;
}

std::uint64_t World::allocate(std::uint64_t bytes, CUstream stream) {
  return reinterpret_cast<std::uint64_t>(kwrec_malloc(static_cast<ssize_t>(bytes), 0, stream));
}

void World::begin(CUstream stream) {
  kwrec_call call{arena_address, arena_bytes, stream, "2.11.0", "3.6.0"};
  ASSERT_EQ(kwrec_begin(&call), 0) << kwrec_error();
}

recording::RecordingT World::ended() {
  EXPECT_EQ(kwrec_end(), 0) << kwrec_error();
  Fd file(kwrec_write());
  if (!file) throw std::runtime_error(kwrec_error());
  std::string bytes = read_memory_file(file, recording::max_file_bytes).value();
  auto view = recording::View::of(bytes);
  if (!view) throw std::runtime_error(view.error().what);
  recording::RecordingT recording;
  (*view)->UnPackTo(&recording);
  return recording;
}

std::string World::obstacles(const recording::RecordingT& recording) const {
  std::string text;
  for (const auto& obstacle : recording.obstacles) text += obstacle->what + ": " + obstacle->detail + "\n";
  return text;
}

void World::told(CUpti_ApiCallbackSite site, CUpti_CallbackId id, const char* name, const void* parameters,
                 CUresult result) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = name;
  data.functionParams = parameters;
  data.functionReturnValue = &result;
  on_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

void World::launch(CUfunction kernel, std::uint64_t at, CUstream stream, CUresult result) {
  int count = 1000;
  void* values[] = {&at, &count};
  cuLaunchKernel_params p{kernel, 4, 1, 1, 128, 1, 1, 256, stream, values, nullptr};
  call(KW_ID(cuLaunchKernel), "cuLaunchKernel", p, result);
}

}  // namespace kw::recorder
