// The recorder: loaded into the process of a candidate (or of a reference), it is PyTorch's allocator there,
// and writes down the device work of a call. C ABI, mirrored in python/kernelwright/recorder.py.
//
// Nobody trusts what it writes: the candidate lives in the same process. It only must not be wrong about
// honest ones.
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

// 1 once CUPTI calls us, 0 before that, negative where it refused; kwrec_error() then says why.
KW_RECORDER_API int kwrec_state(void);
KW_RECORDER_API const char* kwrec_error(void);

// ---- PyTorch's pluggable allocator ---------------------------------------------------------------------

// Stream-ordered: a block is given again at once to the stream that freed it, to others only after a wait for
// the device. Pools of CUDA graphs keep their blocks until they are released. NULL where memory has run out.
KW_RECORDER_API void* kwrec_malloc(ssize_t bytes, int device, void* stream);
KW_RECORDER_API void kwrec_free(void* address, ssize_t bytes, int device, void* stream);
// The hooks beside them take C++ types of PyTorch's: see allocator_hooks.cpp. They are installed by address
// (set_record_stream_fn, set_begin_allocate_to_pool, set_end_allocate_to_pool_fn, set_release_pool,
// set_base_alloc_fn, set_reset_fn): kwrec_record_stream, kwrec_begin_pool, kwrec_end_pool,
// kwrec_release_pool, kwrec_base_alloc, kwrec_reset.

typedef struct {
  uint64_t allocated_bytes;
  uint64_t peak_bytes;
  uint64_t reserved_bytes;  // committed: memory stands behind
  uint64_t allocations;     // so far
} kwrec_memory;

KW_RECORDER_API void kwrec_memory_use(kwrec_memory* out);
KW_RECORDER_API void kwrec_reset_peak(void);

// ---- a recording ---------------------------------------------------------------------------------------

typedef struct {
  uint64_t arena_address;  // where the inputs of the call lie
  uint64_t arena_bytes;
  void* stream;       // the one on which the caller waits: CUstream, NULL the legacy default
  const char* torch;  // versions, for the record
  const char* triton;
} kwrec_call;

// The device is idle, and nothing is allocated or freed until the call: copies the state (all that is
// allocated now) and begins. Returns 0, or -1 with kwrec_error().
KW_RECORDER_API int kwrec_begin(const kwrec_call* call);
// Right after the call returned. What is enqueued later is not part of it.
KW_RECORDER_API int kwrec_end(void);
// Once the device is idle: a sealed memory file with the recording (wire/recording.fbs), or -1.
KW_RECORDER_API int kwrec_write(void);
// The exported memory of the state, -1 where there is none; the descriptor is the caller's.
KW_RECORDER_API int kwrec_export_state(uint64_t* bytes);
// Lets the recording and the state's memory go.
KW_RECORDER_API void kwrec_drop(void);

#ifdef __cplusplus
}
#endif
#endif
