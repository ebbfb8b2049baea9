#include "session.h"

#include <dlfcn.h>

#include <atomic>
#include <bit>
#include <mutex>
#include <string>

#include "calls.h"
#include "heap.h"
#include "recorder.h"
#include "tape.h"

namespace kw::recorder {
namespace {

enum class Watch : int { refused = -1, not_yet = 0, works = 1 };

struct Session {
  std::mutex mutex;  // one caller at a time
  std::atomic<Watch> watch{Watch::not_yet};
  SavedState state;
  std::string torch;
  std::string triton;
};

Session& session() {
  static auto* one = new Session;  // never destroyed: PyTorch still calls while the process ends
  return *one;
}

bool refuse(std::string why) {
  set_error(std::move(why));
  session().watch = Watch::refused;
  return false;
}

bool start_watching() {
  if (!need_driver()) return refuse(error_text());
  Cupti& cupti = machine().cupti;
  if (const char* missing = load(cupti); *missing != '\0')
    return refuse(std::string("CUPTI lacks ") + missing);
  CUptiResult result = subscribe();
  if (result == CUPTI_SUCCESS) return true;
  const char* text = nullptr;
  cupti.cuptiGetResultString(result, &text);
  return refuse(std::string("CUPTI refuses to be subscribed to: ") + (text == nullptr ? "?" : text));
}

}  // namespace

void was_called() {
  if (session().watch == Watch::not_yet) session().watch = Watch::works;
}

}  // namespace kw::recorder

using kw::recorder::heap;
using kw::recorder::Quiet;
using kw::recorder::session;
using kw::recorder::set_error;
using kw::recorder::tape;

extern "C" {

int InitializeInjection(void) {
  Quiet quiet;
  kw::recorder::start_watching();
  return 1;
}

int kwrec_state(void) {
  return static_cast<int>(session().watch.load());
}

const char* kwrec_error(void) {
  return kw::recorder::error_text();
}

int kwrec_begin(const kwrec_call* call) {
  std::lock_guard lock(session().mutex);
  Quiet quiet;
  if (call == nullptr || tape().running()) {
    set_error("a recording runs already");
    return -1;
  }
  if (kwrec_state() != 1) {
    if (kwrec_state() == 0) set_error("CUPTI has not called the recorder: was it loaded before CUDA was?");
    return -1;
  }
  session().torch = call->torch == nullptr ? "" : call->torch;
  session().triton = call->triton == nullptr ? "" : call->triton;
  heap().synchronised();
  heap().on_allocate = [](kw::recorder::Allocation block) { tape().allocated(block); };
  if (!session().state.save(heap().allocations())) return -1;
  tape().begin(*call);
  tape().reserved(heap().pools());
  kw::recorder::watch_everything(true);
  return 0;
}

void kwrec_mark(void) {
  std::lock_guard lock(session().mutex);
  if (tape().running()) tape().mark();
}

int kwrec_end(void) {
  std::lock_guard lock(session().mutex);
  Quiet quiet;
  if (!tape().running()) {
    set_error("no recording runs");
    return -1;
  }
  tape().end();
  kw::recorder::watch_everything(false);
  return 0;
}

int kwrec_write(void) {
  std::lock_guard lock(session().mutex);
  Quiet quiet;
  if (tape().running()) {
    set_error("the recording has not ended");
    return -1;
  }
  auto taken = tape().take();
  if (taken.recording.streams.empty()) {
    set_error("nothing was recorded");
    return -1;
  }
  auto file = kw::recorder::written(std::move(taken), session().state, session().torch, session().triton);
  if (file) return file->release();
  set_error(file.error().what);
  return -1;
}

int kwrec_export_state(uint64_t* bytes) {
  std::lock_guard lock(session().mutex);
  Quiet quiet;
  if (bytes != nullptr) *bytes = session().state.bytes();
  return session().state.exported();
}

void kwrec_drop(void) {
  std::lock_guard lock(session().mutex);
  Quiet quiet;
  if (tape().running()) kw::recorder::watch_everything(false);
  tape().clear();
  session().state.drop();
}

}  // extern "C"

namespace kw::recorder {
namespace {

// The functions that PyTorch's pluggable allocator calls. The hooks besides malloc and free have exactly the
// C++ types to which PyTorch casts their addresses: a pool's id is a pair, a filter a std::function by value.

using TorchFail = void (*)(const char* function, const char* file, std::uint32_t line, const char* message);

// PyTorch would pass a NULL to kernels as an address, so PyTorch's own failure function is called instead if
// it is loaded. PyTorch's libraries throw and catch the exception; it only passes through this library.
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

// This frame has nothing to destroy when the exception passes.
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

// For emptyCache(). The heap keeps its memory, since a recording may contain its addresses.
KW_RECORDER_API void kwrec_reset(void) {}

void kwrec_memory_use(kwrec_memory* out) {
  kw::recorder::Heap::Use use = heap().use();
  *out = {use.allocated_bytes, use.peak_bytes, use.committed_bytes, use.allocations};
}

void kwrec_reset_peak(void) {
  heap().reset_peak();
}

}  // extern "C"
