// The CUDA driver's functions that recorder and replayer call, found at run time: nothing links libcuda, and
// tests replace the functions.
#pragma once

#include <cuda.h>

#include "verify/recording/limits.h"

// cuda.h renames many of these to their latest versions; both uses of the list see the same name.
// clang-format off: it cannot format a list of macros.
#define KW_DRIVER_FUNCTIONS(F) \
  F(cuInit) F(cuDriverGetVersion) F(cuGetErrorName) F(cuDeviceGet) F(cuDeviceGetName) \
  F(cuDeviceGetAttribute) F(cuDevicePrimaryCtxRetain) F(cuCtxSetCurrent) F(cuCtxGetCurrent) \
  F(cuCtxGetDevice) F(cuCtxSynchronize) F(cuStreamCreate) \
  F(cuStreamCreateWithPriority) F(cuStreamDestroy) F(cuStreamSynchronize) F(cuStreamQuery) \
  F(cuStreamGetFlags) F(cuStreamGetPriority) F(cuStreamIsCapturing) F(cuStreamWaitEvent) F(cuStreamWaitValue32) \
  F(cuStreamWriteValue32) F(cuEventCreate) F(cuEventDestroy) F(cuEventRecord) F(cuEventQuery) F(cuEventSynchronize) \
  F(cuEventElapsedTime) F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction) \
  F(cuModuleGetGlobal) F(cuFuncGetModule) F(cuFuncGetName) F(cuFuncGetParamInfo) \
  F(cuFuncGetAttribute) F(cuFuncSetAttribute) F(cuFuncLoad) F(cuKernelGetFunction) \
  F(cuKernelGetName) F(cuLaunchKernelEx) F(cuMemcpyDtoH) F(cuMemcpyHtoD) F(cuMemcpyDtoD) \
  F(cuMemcpyDtoHAsync) F(cuMemcpyHtoDAsync) F(cuMemcpyDtoDAsync) F(cuMemcpy2DAsync) \
  F(cuMemsetD8Async) F(cuMemsetD16Async) F(cuMemsetD32Async) F(cuMemsetD2D8Async) \
  F(cuMemsetD2D16Async) F(cuMemsetD2D32Async) F(cuMemAlloc) F(cuMemFree) F(cuMemHostAlloc) \
  F(cuMemFreeHost) F(cuMemHostGetDevicePointer) F(cuMemGetAllocationGranularity) F(cuMemGetInfo) \
  F(cuMemAddressReserve) F(cuMemAddressFree) F(cuMemCreate) F(cuMemRelease) F(cuMemMap) \
  F(cuMemUnmap) F(cuMemSetAccess) F(cuMemExportToShareableHandle) F(cuMemImportFromShareableHandle) \
  F(cuPointerGetAttribute) F(cuGraphGetNodes) F(cuGraphNodeGetType) F(cuGraphKernelNodeGetParams) \
  F(cuGraphKernelNodeGetAttribute) F(cuGraphMemcpyNodeGetParams) F(cuGraphMemsetNodeGetParams) \
  F(cuGraphGetEdges) F(cuOccupancyMaxActiveBlocksPerMultiprocessor)
// clang-format on

namespace kw::driver {

struct Driver {
#define KW_MEMBER(name) decltype (&::name)(name) = nullptr;
  KW_DRIVER_FUNCTIONS(KW_MEMBER)
#undef KW_MEMBER
};

// Opens libcuda.so.1 and fills the table. Returns an empty text, or the name of the missing library or
// function.
const char* load(Driver& driver);

// The driver's name for a result: "CUDA_ERROR_ILLEGAL_ADDRESS".
const char* name_of(const Driver& driver, CUresult result);

// The addresses of the recorder's heap and of the recorded call's inputs in every process: hints that drivers
// honour.
inline constexpr unsigned long long heap_address = recording::heap_address;
inline constexpr unsigned long long heap_bytes = recording::max_heap_bytes;
inline constexpr unsigned long long arena_address = recording::arena_address;
// Reserved even for small arenas: drivers honour a hint for large ranges only.
inline constexpr unsigned long long arena_reserved_bytes = 1ULL << 36;

}  // namespace kw::driver
