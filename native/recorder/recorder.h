// The recorder: loaded into the process of a candidate (or of a reference), it is PyTorch's allocator there,
// and records the device work of a call. C ABI, mirrored in python/kernelwright/_engine/recorder.py.
//
// Its output is untrusted, since the candidate runs in the same process. It must be correct for honest
// candidates only.
#ifndef KW_RECORDER_H
#define KW_RECORDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KW_RECORDER_API __attribute__((visibility("default")))
#define KW_RECORDER_VERSION 1u

// CUDA_INJECTION64_PATH names this library: the driver calls this within cuInit. Subscribes to CUPTI.
KW_RECORDER_API int InitializeInjection(void);

// 1 after CUPTI's first callback, 0 before it, negative if CUPTI refused; kwrec_error() then has the reason.
KW_RECORDER_API int kwrec_state(void);
KW_RECORDER_API const char* kwrec_error(void);

// ---- PyTorch's pluggable allocator ---------------------------------------------------------------------

// Stream-ordered: the stream that freed a block may reuse it at once, others only after a wait for the
// device. Pools of CUDA graphs keep their blocks until they are released. NULL if memory has run out.
KW_RECORDER_API void* kwrec_malloc(ssize_t bytes, int device, void* stream);
KW_RECORDER_API void kwrec_free(void* address, ssize_t bytes, int device, void* stream);
// The other hooks take C++ types of PyTorch: see session.cpp. They are installed by address
// (set_record_stream_fn, set_begin_allocate_to_pool, set_end_allocate_to_pool_fn, set_release_pool,
// set_base_alloc_fn, set_reset_fn): kwrec_record_stream, kwrec_begin_pool, kwrec_end_pool,
// kwrec_release_pool, kwrec_base_alloc, kwrec_reset.

typedef struct {
  uint64_t allocated_bytes;
  uint64_t peak_bytes;
  uint64_t reserved_bytes;  // committed: backed by memory
  uint64_t allocations;     // so far
} kwrec_memory;

KW_RECORDER_API void kwrec_memory_use(kwrec_memory* out);
KW_RECORDER_API void kwrec_reset_peak(void);

// ---- a recording ---------------------------------------------------------------------------------------

typedef struct {
  uint64_t arena_address;  // of the call's inputs
  uint64_t arena_bytes;
  void* stream;       // on which the caller waits: CUstream; NULL: the legacy default
  const char* torch;  // versions, stored in the recording
  const char* triton;
} kwrec_call;

// Copies the state (all allocated blocks) and begins. The device must be idle, and nothing may be allocated
// or freed until the call. Returns 0, or -1 with kwrec_error().
KW_RECORDER_API int kwrec_begin(const kwrec_call* call);
// Marks the end of the forward and the begin of the backward pass, between two operations of the recorded
// call. Does nothing while no recording runs.
KW_RECORDER_API void kwrec_mark(void);
// To be called right after the call returned. Work enqueued later is not part of the recording.
KW_RECORDER_API int kwrec_end(void);
// Returns a sealed memory file with the recording (wire/recording.fbs), or -1. The device must be idle.
KW_RECORDER_API int kwrec_write(void);
// Returns the exported memory of the state, -1 if there is none. The caller owns the descriptor.
KW_RECORDER_API int kwrec_export_state(uint64_t* bytes);
// Frees the recording and the state's memory.
KW_RECORDER_API void kwrec_drop(void);

#ifdef __cplusplus
}
#endif
#endif
