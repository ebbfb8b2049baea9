// Driver calls as CUPTI reports them, and the functions that record them.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine.h"

namespace kw::recorder {

struct Call {
  CUpti_CallbackId id = 0;  // plain
  const char* name = "";
  const char* symbol = nullptr;  // a launch's kernel
  const void* parameters = nullptr;
  bool per_thread = false;  // compiled with NULL as the thread's own default stream

  template <typename Parameters>
  const Parameters& as() const {
    return *static_cast<const Parameters*>(parameters);
  }
  CUstream stream(CUstream given) const {
    return given == nullptr && per_thread ? CU_STREAM_PER_THREAD : given;
  }
  // The stream of a call that has one, else the default stream.
  template <typename Parameters>
  CUstream stream_of(const Parameters& p) const {
    if constexpr (requires { p.hStream; })
      return stream(p.hStream);
    else
      return stream(nullptr);
  }
};

#define KW_ID(name) CUPTI_DRIVER_TRACE_CBID_##name

// Many calls have two forms with equal parameters, for the legacy and for the thread's own default stream
// (_ptsz, _ptds). Returns the first form's id for the second's, and any other id unchanged.
CUpti_CallbackId plain(CUpti_CallbackId id);

// Whether the stream belongs to a capture: its work runs when the graph is launched.
bool capturing(CUstream stream);

// Each records a call of its kind after the call has succeeded. False: the call is of another kind.
bool write_launch(const Call& call);
bool write_copy(const Call& call);
bool write_fill(const Call& call);
bool write_wait(const Call& call);
bool write_graph(const Call& call);

// Each reads the data that the call is about to change.
void before_launch(const Call& call);
void before_graph(const Call& call);

// Whether a call that none of the functions above records has no effect on the device that a replay needs.
bool harmless(std::string_view name);

// CUPTI's callback; tests call it.
void CUPTIAPI on_callback(void* data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* what);

// CUPTI_SUCCESS, or the first error.
CUptiResult subscribe();
// Watches all driver calls (during a recording), or only those of modules, kernels and graphs.
void watch_everything(bool on);

}  // namespace kw::recorder
