#include <algorithm>
#include <array>
#include <string>

#include "calls.h"

namespace kw::recorder {
namespace {

using namespace std::string_view_literals;

// Sorted. Calls that only ask have Get or Query in their names and are not listed.
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

// Without what tells versions and default streams apart: cuMemFree_v2, cuStreamQuery_ptsz.
std::string_view base_name(std::string_view name) {
  for (std::string_view suffix : {"_ptsz"sv, "_ptds"sv})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  if (name.size() > 3 && name[name.size() - 3] == '_' && name[name.size() - 2] == 'v' && name.back() >= '2' &&
      name.back() <= '9')
    name.remove_suffix(3);
  return name;
}

// Making a graph does nothing by itself; one that was made and then changed is forgotten elsewhere.
bool of_a_graph(std::string_view name) {
  return name.starts_with("cuGraph") && name != "cuGraphLaunch";
}

}  // namespace

bool harmless(std::string_view name) {
  name = base_name(name);
  return name.contains("Get") || name.contains("Query") || of_a_graph(name) ||
         std::ranges::binary_search(harmless_names, name);
}

}  // namespace kw::recorder
