// What PyTorch's pluggable allocator calls. The hooks beside malloc and free have C++ types, exactly those to
// which PyTorch casts the addresses that it is given: a pool's id is a pair, a filter a std::function by
// value.
#include <dlfcn.h>

#include <bit>
#include <string>

#include "heap.h"
#include "recorder.h"

namespace kw::recorder {
namespace {

using TorchFail = void (*)(const char* function, const char* file, std::uint32_t line, const char* message);

// PyTorch takes a NULL for an address and hands it to kernels. Its own way to fail is called instead, where
// it is loaded; the exception is made, thrown and caught by PyTorch's libraries and only passes by here.
TorchFail torch_fail() {
  void* library = ::dlopen("libc10.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<TorchFail>(::dlsym(library, "_ZN3c106detail14torchCheckFailEPKcS2_jS2_"));
}

[[gnu::noinline]] const char* complaint() {
  static thread_local std::string message;
  message = std::string("CUDA out of memory: ") + error_text();
  return message.c_str();
}

// Nothing in this frame needs to be destroyed when the exception passes.
void complain() {
  TorchFail fail = torch_fail();
  if (fail != nullptr) fail("kwrec_malloc", "recorder", 0, complaint());
}

CUstream as_stream(void* stream) {
  return static_cast<CUstream>(stream);
}

}  // namespace
}  // namespace kw::recorder

using kw::recorder::heap;

extern "C" {

void* kwrec_malloc(ssize_t bytes, int /*device*/, void* stream) {
  if (bytes <= 0) return nullptr;
  std::uint64_t address = heap().allocate(static_cast<std::uint64_t>(bytes), kw::recorder::as_stream(stream));
  if (address == 0) kw::recorder::complain();
  return std::bit_cast<void*>(address);
}

void kwrec_free(void* address, ssize_t /*bytes*/, int /*device*/, void* /*stream*/) {
  if (address != nullptr) heap().free(reinterpret_cast<std::uint64_t>(address));
}

KW_RECORDER_API void kwrec_record_stream(void* address, CUstream stream) {
  if (address != nullptr) heap().used_by(reinterpret_cast<std::uint64_t>(address), stream);
}

KW_RECORDER_API void kwrec_begin_pool(int /*device*/, kw::recorder::PoolId pool,
                                      std::function<bool(CUstream)> filter) {
  heap().begin_pool(pool, std::move(filter));
}

KW_RECORDER_API void kwrec_end_pool(int /*device*/, kw::recorder::PoolId pool) {
  heap().end_pool(pool);
}

KW_RECORDER_API void kwrec_release_pool(int /*device*/, kw::recorder::PoolId pool) {
  heap().release_pool(pool);
}

KW_RECORDER_API void* kwrec_base_alloc(void* address, std::size_t* bytes) {
  kw::recorder::Allocation block = heap().containing(reinterpret_cast<std::uint64_t>(address));
  if (bytes != nullptr) *bytes = block.bytes;
  return std::bit_cast<void*>(block.address);
}

// emptyCache(): memory stays with the heap, whose addresses a recording may hold.
KW_RECORDER_API void kwrec_reset(void) {}

void kwrec_memory_use(kwrec_memory* out) {
  kw::recorder::Heap::Use use = heap().use();
  *out = {use.allocated_bytes, use.peak_bytes, use.committed_bytes, use.allocations};
}

void kwrec_reset_peak(void) {
  heap().reset_peak();
}

}  // extern "C"
