// Events, and the host's waits for the device.
#include "calls.h"
#include "tape.h"

namespace kw::recorder {
namespace {

std::uint64_t number(CUevent event) {
  return reinterpret_cast<std::uint64_t>(event);
}

void host_waited(CUstream stream, recording::HostWaits scope, CUevent event = nullptr) {
  recording::HostWaitT wait;
  wait.scope = scope;
  wait.event = number(event);
  tape().add(stream, wait);
}

void recorded(CUevent event, CUstream stream) {
  if (capturing(stream)) return;
  recording::EventRecordT record;
  record.event = number(event);
  tape().add(stream, record);
}

void waits(CUstream stream, CUevent event) {
  if (capturing(stream)) return;
  recording::EventWaitT wait;
  wait.event = number(event);
  tape().add(stream, wait);
}

}  // namespace

// A query that succeeded is as good as a wait: only such ones come here.
bool write_wait(const Call& call) {
  switch (call.id) {
    case KW_ID(cuEventRecord): {
      const auto& p = call.as<cuEventRecord_params>();
      recorded(p.hEvent, call.stream(p.hStream));
      return true;
    }
    case KW_ID(cuEventRecordWithFlags): {
      const auto& p = call.as<cuEventRecordWithFlags_params>();
      recorded(p.hEvent, call.stream(p.hStream));
      return true;
    }
    case KW_ID(cuStreamWaitEvent): {
      const auto& p = call.as<cuStreamWaitEvent_params>();
      waits(call.stream(p.hStream), p.hEvent);
      return true;
    }
    case KW_ID(cuStreamSynchronize): {
      host_waited(call.stream(call.as<cuStreamSynchronize_params>().hStream), recording::HostWaits::stream);
      return true;
    }
    case KW_ID(cuStreamQuery): {
      CUstream stream = call.stream(call.as<cuStreamQuery_params>().hStream);
      if (!capturing(stream)) host_waited(stream, recording::HostWaits::stream);
      return true;
    }
    case KW_ID(cuEventSynchronize):
      host_waited(tape().caller(), recording::HostWaits::event, call.as<cuEventSynchronize_params>().hEvent);
      return true;
    case KW_ID(cuEventQuery):
      host_waited(tape().caller(), recording::HostWaits::event, call.as<cuEventQuery_params>().hEvent);
      return true;
    case KW_ID(cuCtxSynchronize):
    case KW_ID(cuCtxSynchronize_v2):
      host_waited(tape().caller(), recording::HostWaits::device);
      return true;
    default:
      return false;
  }
}

}  // namespace kw::recorder
