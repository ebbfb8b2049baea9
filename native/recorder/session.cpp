#include "session.h"

#include <atomic>
#include <mutex>
#include <string>

#include "calls.h"
#include "recorder.h"
#include "saved_state.h"
#include "tape.h"
#include "written.h"

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
  static auto* one = new Session;  // PyTorch still calls us while the process ends
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
  kw::recorder::watch_everything(true);
  return 0;
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
