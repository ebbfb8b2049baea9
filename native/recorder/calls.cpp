#include "calls.h"

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

}  // namespace kw::recorder
