#include "calls.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <initializer_list>
#include <string>

#include "graphs.h"
#include "modules.h"
#include "session.h"
#include "tape.h"

namespace kw::recorder {

#define KW_STREAM(name)    \
  case KW_ID(name##_ptsz): \
    return KW_ID(name);
#define KW_WHOLE(name)     \
  case KW_ID(name##_ptds): \
    return KW_ID(name);

CUpti_CallbackId plain(CUpti_CallbackId id) {
  switch (id) {
    KW_STREAM(cuEventRecord)
    KW_STREAM(cuEventRecordWithFlags)
    KW_STREAM(cuGraphInstantiateWithParams)
    KW_STREAM(cuGraphLaunch)
    KW_STREAM(cuLaunchCooperativeKernel)
    KW_STREAM(cuLaunchKernel)
    KW_STREAM(cuLaunchKernelEx)
    KW_WHOLE(cuMemcpy)
    KW_STREAM(cuMemcpy2DAsync_v2)
    KW_WHOLE(cuMemcpy2DUnaligned_v2)
    KW_WHOLE(cuMemcpy2D_v2)
    KW_STREAM(cuMemcpyAsync)
    KW_STREAM(cuMemcpyDtoDAsync_v2)
    KW_WHOLE(cuMemcpyDtoD_v2)
    KW_STREAM(cuMemcpyDtoHAsync_v2)
    KW_WHOLE(cuMemcpyDtoH_v2)
    KW_STREAM(cuMemcpyHtoDAsync_v2)
    KW_WHOLE(cuMemcpyHtoD_v2)
    KW_WHOLE(cuMemcpyPeer)
    KW_STREAM(cuMemcpyPeerAsync)
    KW_STREAM(cuMemsetD16Async)
    KW_WHOLE(cuMemsetD16_v2)
    KW_STREAM(cuMemsetD2D16Async)
    KW_WHOLE(cuMemsetD2D16_v2)
    KW_STREAM(cuMemsetD2D32Async)
    KW_WHOLE(cuMemsetD2D32_v2)
    KW_STREAM(cuMemsetD2D8Async)
    KW_WHOLE(cuMemsetD2D8_v2)
    KW_STREAM(cuMemsetD32Async)
    KW_WHOLE(cuMemsetD32_v2)
    KW_STREAM(cuMemsetD8Async)
    KW_WHOLE(cuMemsetD8_v2)
    KW_STREAM(cuStreamQuery)
    KW_STREAM(cuStreamSynchronize)
    KW_STREAM(cuStreamWaitEvent)
    default:
      return id;
  }
}

bool capturing(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return machine().driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

namespace {

using namespace std::string_view_literals;

// Sorted. Calls that only read are not listed: their names contain Get or Query.
constexpr std::array harmless_names{
    "cuCtxEnablePeerAccess"sv,
    "cuCtxPopCurrent"sv,
    "cuCtxPushCurrent"sv,
    "cuCtxResetPersistingL2Cache"sv,
    "cuCtxSetCacheConfig"sv,
    "cuCtxSetCurrent"sv,
    "cuCtxSetFlags"sv,
    "cuDeviceCanAccessPeer"sv,
    "cuDeviceComputeCapability"sv,
    "cuDeviceGraphMemTrim"sv,
    "cuDevicePrimaryCtxRelease"sv,
    "cuDevicePrimaryCtxRetain"sv,
    "cuDevicePrimaryCtxSetFlags"sv,
    "cuDeviceTotalMem"sv,
    "cuDriverGetVersion"sv,
    "cuEventCreate"sv,
    "cuEventDestroy"sv,
    "cuEventElapsedTime"sv,
    "cuFuncIsLoaded"sv,
    "cuFuncLoad"sv,
    "cuFuncSetAttribute"sv,
    "cuFuncSetBlockShape"sv,
    "cuFuncSetCacheConfig"sv,
    "cuFuncSetSharedMemConfig"sv,
    "cuInit"sv,
    "cuKernelSetAttribute"sv,
    "cuKernelSetCacheConfig"sv,
    "cuLibraryEnumerateKernels"sv,
    "cuLibraryLoadData"sv,
    "cuLibraryLoadFromFile"sv,
    "cuLibraryUnload"sv,
    "cuLinkAddData"sv,
    "cuLinkAddFile"sv,
    "cuLinkComplete"sv,
    "cuLinkCreate"sv,
    "cuLinkDestroy"sv,
    "cuLogsCurrent"sv,
    "cuLogsRegisterCallback"sv,
    "cuLogsUnregisterCallback"sv,
    "cuMemAddressFree"sv,
    "cuMemAddressReserve"sv,
    "cuMemAlloc"sv,
    "cuMemAllocAsync"sv,
    "cuMemAllocFromPoolAsync"sv,
    "cuMemAllocHost"sv,
    "cuMemAllocManaged"sv,
    "cuMemAllocPitch"sv,
    "cuMemCreate"sv,
    "cuMemExportToShareableHandle"sv,
    "cuMemFree"sv,
    "cuMemFreeAsync"sv,
    "cuMemFreeHost"sv,
    "cuMemHostAlloc"sv,
    "cuMemHostRegister"sv,
    "cuMemHostUnregister"sv,
    "cuMemImportFromShareableHandle"sv,
    "cuMemMap"sv,
    "cuMemPoolCreate"sv,
    "cuMemPoolDestroy"sv,
    "cuMemPoolSetAccess"sv,
    "cuMemPoolSetAttribute"sv,
    "cuMemPoolTrimTo"sv,
    "cuMemRelease"sv,
    "cuMemRetainAllocationHandle"sv,
    "cuMemSetAccess"sv,
    "cuMemUnmap"sv,
    "cuModuleEnumerateFunctions"sv,
    "cuModuleLoad"sv,
    "cuModuleLoadData"sv,
    "cuModuleLoadDataEx"sv,
    "cuModuleLoadFatBinary"sv,
    "cuModuleUnload"sv,
    "cuOccupancyAvailableDynamicSMemPerBlock"sv,
    "cuOccupancyMaxActiveBlocksPerMultiprocessor"sv,
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"sv,
    "cuOccupancyMaxActiveClusters"sv,
    "cuOccupancyMaxPotentialBlockSize"sv,
    "cuOccupancyMaxPotentialBlockSizeWithFlags"sv,
    "cuOccupancyMaxPotentialClusterSize"sv,
    "cuPointerSetAttribute"sv,
    "cuProfilerStart"sv,
    "cuProfilerStop"sv,
    "cuStreamBeginCapture"sv,
    "cuStreamBeginCaptureToGraph"sv,
    "cuStreamCopyAttributes"sv,
    "cuStreamCreate"sv,
    "cuStreamCreateWithPriority"sv,
    "cuStreamDestroy"sv,
    "cuStreamEndCapture"sv,
    "cuStreamIsCapturing"sv,
    "cuStreamSetAttribute"sv,
    "cuStreamUpdateCaptureDependencies"sv,
    "cuTensorMapEncodeIm2col"sv,
    "cuTensorMapEncodeIm2colWide"sv,
    "cuTensorMapEncodeTiled"sv,
    "cuTensorMapReplaceAddress"sv,
    "cuThreadExchangeStreamCaptureMode"sv,
    "cuUserObjectCreate"sv,
    "cuUserObjectRelease"sv,
    "cuUserObjectRetain"sv,
};
static_assert(std::ranges::is_sorted(harmless_names));

// Removes the suffixes of versions and default streams: cuMemFree_v2, cuStreamQuery_ptsz.
std::string_view base_name(std::string_view name) {
  for (std::string_view suffix : {"_ptsz"sv, "_ptds"sv})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  if (name.size() > 3 && name[name.size() - 3] == '_' && name[name.size() - 2] == 'v' && name.back() >= '2' &&
      name.back() <= '9')
    name.remove_suffix(3);
  return name;
}

// Building a graph has no effect on the device. follow() forgets a graph that changes after its
// instantiation.
bool of_a_graph(std::string_view name) {
  return name.starts_with("cuGraph") && name != "cuGraphLaunch";
}

}  // namespace

bool harmless(std::string_view name) {
  name = base_name(name);
  return name.contains("Get") || name.contains("Query") || of_a_graph(name) ||
         std::ranges::binary_search(harmless_names, name);
}

namespace {

// CUPTI's callbacks. Modules, kernels and graphs are tracked always, all other driver calls during a
// recording.

std::atomic<CUpti_SubscriberHandle> subscriber{nullptr};

// Calls that change the tracked state. They are watched outside recordings too.
constexpr std::initializer_list<CUpti_CallbackId> always_watched{
    KW_ID(cuModuleLoad),
    KW_ID(cuModuleLoadData),
    KW_ID(cuModuleLoadDataEx),
    KW_ID(cuModuleLoadFatBinary),
    KW_ID(cuModuleUnload),
    KW_ID(cuLibraryGetKernel),
    KW_ID(cuLibraryEnumerateKernels),
    KW_ID(cuGraphInstantiate),
    KW_ID(cuGraphInstantiate_v2),
    KW_ID(cuGraphInstantiateWithFlags),
    KW_ID(cuGraphInstantiateWithParams),
    KW_ID(cuGraphInstantiateWithParams_ptsz),
    KW_ID(cuGraphExecDestroy),
    KW_ID(cuGraphExecUpdate),
    KW_ID(cuGraphExecUpdate_v2),
    KW_ID(cuGraphExecKernelNodeSetParams),
    KW_ID(cuGraphExecKernelNodeSetParams_v2),
    KW_ID(cuGraphExecMemcpyNodeSetParams),
    KW_ID(cuGraphExecMemsetNodeSetParams),
    KW_ID(cuGraphExecHostNodeSetParams),
    KW_ID(cuGraphExecChildGraphNodeSetParams),
    KW_ID(cuGraphExecEventRecordNodeSetEvent),
    KW_ID(cuGraphExecEventWaitNodeSetEvent),
    KW_ID(cuGraphExecExternalSemaphoresSignalNodeSetParams),
    KW_ID(cuGraphExecExternalSemaphoresWaitNodeSetParams),
    KW_ID(cuGraphExecBatchMemOpNodeSetParams),
    KW_ID(cuGraphExecNodeSetParams),
    KW_ID(cuGraphNodeSetEnabled),
};

bool loads_a_module(CUpti_CallbackId id) {
  return id == KW_ID(cuModuleLoad) || id == KW_ID(cuModuleLoadData) || id == KW_ID(cuModuleLoadDataEx) ||
         id == KW_ID(cuModuleLoadFatBinary);
}

// The first parameter of all these calls receives the module; the second is the image's address, if any.
void module_loaded(const Call& call) {
  const auto& p = call.as<cuModuleLoadData_params>();
  bool image = call.id == KW_ID(cuModuleLoadData) || call.id == KW_ID(cuModuleLoadDataEx);
  if (p.module != nullptr) modules().is(*p.module, image ? p.image : nullptr);
}

// Updates modules, kernels and graphs after a call that succeeded.
void follow(const Call& call) {
  switch (call.id) {
    case KW_ID(cuModuleLoad):
    case KW_ID(cuModuleLoadData):
    case KW_ID(cuModuleLoadDataEx):
    case KW_ID(cuModuleLoadFatBinary):
      module_loaded(call);
      return;
    case KW_ID(cuModuleUnload):
      modules().unloaded(call.as<cuModuleUnload_params>().hmod);
      return;
    case KW_ID(cuLibraryGetKernel):
      modules().is_kernel(*call.as<cuLibraryGetKernel_params>().pKernel);
      return;
    case KW_ID(cuLibraryEnumerateKernels): {
      const auto& p = call.as<cuLibraryEnumerateKernels_params>();
      for (unsigned i = 0; i < p.numKernels; ++i) modules().is_kernel(p.kernels[i]);
      return;
    }
    case KW_ID(cuGraphInstantiate):
    case KW_ID(cuGraphInstantiate_v2):
    case KW_ID(cuGraphInstantiateWithFlags):
    case KW_ID(cuGraphInstantiateWithParams): {
      const auto& p = call.as<cuGraphInstantiateWithFlags_params>();
      graph_instantiated(p.hGraph, *p.phGraphExec);
      return;
    }
    default:
      break;
  }
  // All other calls in always_watched change an instantiated graph, their first parameter.
  for (CUpti_CallbackId id : always_watched)
    if (id == call.id) graph_forgotten(call.as<cuGraphExecDestroy_params>().hGraphExec);
}

void write_down(const Call& call) {
  if (write_launch(call) || write_copy(call) || write_fill(call) || write_wait(call) || write_graph(call))
    return;
  if (!harmless(call.name)) tape().obstacle("driver call", call.name);
}

Call described(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const char* name = data.functionName == nullptr ? "" : data.functionName;
  std::string_view text = name;
  return {.id = plain(id),
          .name = name,
          .symbol = data.symbolName,
          .parameters = data.functionParams,
          .per_thread = text.ends_with("_ptsz") || text.ends_with("_ptds")};
}

void driver_called(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const Call call = described(id, data);
  if (data.callbackSite == CUPTI_API_ENTER) {
    if (loads_a_module(call.id)) modules().loading();
    if (tape().running()) {
      before_launch(call);
      before_graph(call);
    }
    return;
  }
  if (data.functionReturnValue == nullptr ||
      *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS)
    return;
  follow(call);
  if (tape().running()) write_down(call);
}

}  // namespace

void CUPTIAPI on_callback(void* /*data*/, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                          const void* what) {
  was_called();
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
    const auto* resource = static_cast<const CUpti_ResourceData*>(what);
    const auto* module = static_cast<const CUpti_ModuleResourceData*>(resource->resourceDescriptor);
    modules().loaded(module->pCubin, module->cubinSize);
    return;
  }
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || Quiet::on()) return;
  Quiet quiet;
  driver_called(id, *static_cast<const CUpti_CallbackData*>(what));
}

CUptiResult subscribe() {
  const Cupti& cupti = machine().cupti;
  CUpti_SubscriberHandle handle = nullptr;
  CUptiResult result = cupti.cuptiSubscribe(&handle, on_callback, nullptr);
  if (result != CUPTI_SUCCESS) return result;
  subscriber = handle;
  result = cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
  if (result == CUPTI_SUCCESS)
    result =
        cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  for (CUpti_CallbackId id : always_watched)
    if (result == CUPTI_SUCCESS)
      result = cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, id);
  return result;
}

void watch_everything(bool on) {
  const Cupti& cupti = machine().cupti;
  CUpti_SubscriberHandle handle = subscriber;
  if (handle == nullptr) return;
  cupti.cuptiEnableDomain(on ? 1 : 0, handle, CUPTI_CB_DOMAIN_DRIVER_API);
  if (on) return;
  for (CUpti_CallbackId id : always_watched)
    cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

}  // namespace kw::recorder
