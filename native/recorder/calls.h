// Driver calls as CUPTI shows them, and who writes which of them down.
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
  bool per_thread = false;  // compiled so that NULL means the thread's own default stream

  template <typename Parameters>
  const Parameters& as() const {
    return *static_cast<const Parameters*>(parameters);
  }
  CUstream stream(CUstream given) const {
    return given == nullptr && per_thread ? CU_STREAM_PER_THREAD : given;
  }
  // The stream of a call that names one, else the default.
  template <typename Parameters>
  CUstream stream_of(const Parameters& p) const {
    if constexpr (requires { p.hStream; })
      return stream(p.hStream);
    else
      return stream(nullptr);
  }
};

#define KW_ID(name) CUPTI_DRIVER_TRACE_CBID_##name

// Many calls come in two forms, for the legacy and for the thread's own default stream (_ptsz, _ptds), with
// equal parameters: the first form's id for the second's, any other id as it is.
CUpti_CallbackId plain(CUpti_CallbackId id);

// The stream belongs to a capture: its work runs when the graph is launched.
bool capturing(CUstream stream);

// Each writes the call down if it is one of its own, after the call has succeeded. False: not one of its own.
bool write_launch(const Call& call);
bool write_copy(const Call& call);
bool write_fill(const Call& call);
bool write_wait(const Call& call);
bool write_graph(const Call& call);

// Before the call: what it is about to change is looked at first.
void before_launch(const Call& call);
void before_graph(const Call& call);

// Whether a call outside the lists above does nothing on the device that a replay would miss.
bool harmless(std::string_view name);

// The callback itself; tests call it.
void CUPTIAPI on_callback(void* data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* what);

// CUPTI_SUCCESS, or what refused.
CUptiResult subscribe();
// All driver calls are watched during a recording, only modules, kernels and graphs otherwise.
void watch_everything(bool on);

}  // namespace kw::recorder
