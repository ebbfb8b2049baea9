#include <bit>
#include <string>
#include <type_traits>

#include "calls.h"
#include "tape.h"

namespace kw::recorder {
namespace {

constexpr std::size_t most_host_rows = 65'536;  // each row is a separate operation

struct Transfer {
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::size_t row_bytes = 0;
  std::size_t rows = 1;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  CUstream stream = nullptr;
  bool host_waits = false;  // the call waits for the device
};

enum class Place : std::uint8_t { ours, foreign, pinned_host, pageable_host };

Place place_of(std::uint64_t address) {
  if (tape().ours(address)) return Place::ours;
  const driver::Driver& cuda = machine().driver;
  unsigned kind = 0;
  unsigned managed = 0;
  if (cuda.cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
    return Place::pageable_host;
  cuda.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
  return kind == CU_MEMORYTYPE_HOST && managed == 0 ? Place::pinned_host : Place::foreign;
}

bool on_host(Place place) {
  return place == Place::pinned_host || place == Place::pageable_host;
}

// Whether any part is device memory that a replay does not have.
bool reaches_others(Place place, std::uint64_t address, std::size_t pitch, const Transfer& transfer) {
  if (place == Place::foreign) return true;
  return place == Place::ours && !tape().ours(address, (transfer.rows - 1) * pitch + transfer.row_bytes);
}

void write_upload(const Transfer& transfer) {
  if (!tape().may_upload(transfer.row_bytes * transfer.rows)) return;
  for (std::size_t row = 0; row < transfer.rows; ++row) {
    const auto* from = std::bit_cast<const std::uint8_t*>(transfer.from) + row * transfer.from_pitch;
    recording::UploadT upload;
    upload.to = transfer.to + row * transfer.to_pitch;
    upload.bytes.assign(from, from + transfer.row_bytes);
    tape().add(transfer.stream, std::move(upload));
  }
}

// The call has returned, so the bytes have arrived when the stream is idle.
void write_download(const Transfer& transfer, bool host_waits) {
  if (!tape().may_download(transfer.row_bytes * transfer.rows)) return;
  machine().driver.cuStreamSynchronize(transfer.stream);
  for (std::size_t row = 0; row < transfer.rows; ++row) {
    const auto* to = std::bit_cast<const std::uint8_t*>(transfer.to) + row * transfer.to_pitch;
    recording::DownloadT download;
    download.from = transfer.from + row * transfer.from_pitch;
    download.bytes.assign(to, to + transfer.row_bytes);
    tape().add(transfer.stream, std::move(download));
  }
  if (!host_waits) return;
  recording::HostWaitT wait;
  wait.scope = recording::HostWaits::stream;
  tape().add(transfer.stream, wait);
}

void write_within(const Transfer& transfer) {
  recording::CopyT copy;
  copy.to = transfer.to;
  copy.from = transfer.from;
  copy.row_bytes = transfer.row_bytes;
  copy.rows = transfer.rows;
  copy.to_pitch = transfer.to_pitch;
  copy.from_pitch = transfer.from_pitch;
  tape().add(transfer.stream, copy);
}

void write(const Transfer& transfer, const char* name) {
  if (capturing(transfer.stream) || transfer.row_bytes == 0 || transfer.rows == 0) return;
  Place to = place_of(transfer.to);
  Place from = place_of(transfer.from);
  if (reaches_others(to, transfer.to, transfer.to_pitch, transfer) ||
      reaches_others(from, transfer.from, transfer.from_pitch, transfer))
    tape().obstacle("foreign pointer", name);
  else if (on_host(to) && on_host(from))
    tape().obstacle("driver call", std::string(name) + " on the host");
  else if ((on_host(to) || on_host(from)) && transfer.rows > most_host_rows)
    tape().obstacle("too much data", std::string(name) + " of very many rows");
  else if (on_host(from))
    write_upload(transfer);
  else if (on_host(to))
    write_download(transfer, transfer.host_waits || to == Place::pageable_host);
  else
    write_within(transfer);
}

template <typename Pointer>
std::uint64_t number(Pointer pointer) {
  if constexpr (std::is_pointer_v<Pointer>)
    return reinterpret_cast<std::uint64_t>(pointer);
  else
    return pointer;
}

enum class Host : bool { goes_on, waits };

template <typename Parameters, typename To, typename From>
bool flat(const Call& call, To Parameters::* to, From Parameters::* from, Host host = Host::goes_on) {
  const auto& p = call.as<Parameters>();
  write({.to = number(p.*to),
         .from = number(p.*from),
         .row_bytes = p.ByteCount,
         .stream = call.stream_of(p),
         .host_waits = host == Host::waits},
        call.name);
  return true;
}

// The source or destination address of a two-dimensional copy; 0 for a CUDA array.
template <typename Address>
std::uint64_t end_of(CUmemorytype kind, Address host, CUdeviceptr device, std::size_t offset) {
  if (kind == CU_MEMORYTYPE_HOST) return number(host) + offset;
  return kind == CU_MEMORYTYPE_DEVICE || kind == CU_MEMORYTYPE_UNIFIED ? device + offset : 0;
}

template <typename Parameters>
bool rectangle(const Call& call, const CUDA_MEMCPY2D* Parameters::* given, Host host) {
  const auto& p = call.as<Parameters>();
  const CUDA_MEMCPY2D& copy = *(p.*given);
  Transfer transfer{.to = end_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice,
                                 copy.dstY * copy.dstPitch + copy.dstXInBytes),
                    .from = end_of(copy.srcMemoryType, copy.srcHost, copy.srcDevice,
                                   copy.srcY * copy.srcPitch + copy.srcXInBytes),
                    .row_bytes = copy.WidthInBytes,
                    .rows = copy.Height,
                    .to_pitch = copy.dstPitch,
                    .from_pitch = copy.srcPitch,
                    .stream = call.stream_of(p),
                    .host_waits = host == Host::waits};
  if (transfer.to == 0 || transfer.from == 0)
    tape().obstacle("driver call", std::string(call.name) + " of an array");
  else
    write(transfer, call.name);
  return true;
}

}  // namespace

bool write_copy(const Call& call) {
  using HtoDAsync = cuMemcpyHtoDAsync_v2_params;
  using DtoHAsync = cuMemcpyDtoHAsync_v2_params;
  using DtoDAsync = cuMemcpyDtoDAsync_v2_params;
  using PeerAsync = cuMemcpyPeerAsync_params;
  using HtoD = cuMemcpyHtoD_v2_params;
  using DtoH = cuMemcpyDtoH_v2_params;
  using DtoD = cuMemcpyDtoD_v2_params;
  using Peer = cuMemcpyPeer_params;
  switch (call.id) {
    case KW_ID(cuMemcpyHtoDAsync_v2):
      return flat(call, &HtoDAsync::dstDevice, &HtoDAsync::srcHost);
    case KW_ID(cuMemcpyDtoHAsync_v2):
      return flat(call, &DtoHAsync::dstHost, &DtoHAsync::srcDevice);
    case KW_ID(cuMemcpyDtoDAsync_v2):
      return flat(call, &DtoDAsync::dstDevice, &DtoDAsync::srcDevice);
    case KW_ID(cuMemcpyPeerAsync):
      return flat(call, &PeerAsync::dstDevice, &PeerAsync::srcDevice);
    case KW_ID(cuMemcpyAsync):
      return flat(call, &cuMemcpyAsync_params::dst, &cuMemcpyAsync_params::src);
    case KW_ID(cuMemcpyHtoD_v2):
      return flat(call, &HtoD::dstDevice, &HtoD::srcHost, Host::waits);
    case KW_ID(cuMemcpyDtoH_v2):
      return flat(call, &DtoH::dstHost, &DtoH::srcDevice, Host::waits);
    case KW_ID(cuMemcpyDtoD_v2):
      return flat(call, &DtoD::dstDevice, &DtoD::srcDevice);
    case KW_ID(cuMemcpyPeer):
      return flat(call, &Peer::dstDevice, &Peer::srcDevice);
    case KW_ID(cuMemcpy):
      return flat(call, &cuMemcpy_params::dst, &cuMemcpy_params::src, Host::waits);
    case KW_ID(cuMemcpy2DAsync_v2):
      return rectangle(call, &cuMemcpy2DAsync_v2_params::pCopy, Host::goes_on);
    case KW_ID(cuMemcpy2D_v2):
    case KW_ID(cuMemcpy2DUnaligned_v2):
      return rectangle(call, &cuMemcpy2D_v2_params::pCopy, Host::waits);
    default:
      return false;
  }
}

namespace {

struct Area {
  std::uint64_t to = 0;
  unsigned value = 0;
  std::uint8_t width = 1;
  std::size_t columns = 0;
  std::size_t rows = 1;
  std::size_t pitch = 0;
};

void write(const Area& area, CUstream stream, const char* name) {
  if (capturing(stream) || area.columns == 0 || area.rows == 0) return;
  if (!tape().ours(area.to, (area.rows - 1) * area.pitch + area.columns * area.width)) {
    tape().obstacle("foreign pointer", name);
    return;
  }
  recording::FillT fill;
  fill.to = area.to;
  fill.value = area.value;
  fill.width = area.width;
  fill.columns = area.columns;
  fill.rows = area.rows;
  fill.pitch = area.pitch;
  tape().add(stream, fill);
}

// `value` is one element; its type is the element's width.
template <typename Parameters, typename Value>
bool fill(const Call& call, Value Parameters::* value) {
  const auto& p = call.as<Parameters>();
  Area area{.to = p.dstDevice, .value = p.*value, .width = sizeof(Value)};
  if constexpr (requires { p.N; }) {
    area.columns = p.N;
  } else {
    area.columns = p.Width;
    area.rows = p.Height;
    area.pitch = p.dstPitch;
  }
  write(area, call.stream_of(p), call.name);
  return true;
}

}  // namespace

bool write_fill(const Call& call) {
  switch (call.id) {
    case KW_ID(cuMemsetD8Async):
      return fill(call, &cuMemsetD8Async_params::uc);
    case KW_ID(cuMemsetD16Async):
      return fill(call, &cuMemsetD16Async_params::us);
    case KW_ID(cuMemsetD32Async):
      return fill(call, &cuMemsetD32Async_params::ui);
    case KW_ID(cuMemsetD8_v2):
      return fill(call, &cuMemsetD8_v2_params::uc);
    case KW_ID(cuMemsetD16_v2):
      return fill(call, &cuMemsetD16_v2_params::us);
    case KW_ID(cuMemsetD32_v2):
      return fill(call, &cuMemsetD32_v2_params::ui);
    case KW_ID(cuMemsetD2D8Async):
      return fill(call, &cuMemsetD2D8Async_params::uc);
    case KW_ID(cuMemsetD2D16Async):
      return fill(call, &cuMemsetD2D16Async_params::us);
    case KW_ID(cuMemsetD2D32Async):
      return fill(call, &cuMemsetD2D32Async_params::ui);
    case KW_ID(cuMemsetD2D8_v2):
      return fill(call, &cuMemsetD2D8_v2_params::uc);
    case KW_ID(cuMemsetD2D16_v2):
      return fill(call, &cuMemsetD2D16_v2_params::us);
    case KW_ID(cuMemsetD2D32_v2):
      return fill(call, &cuMemsetD2D32_v2_params::ui);
    default:
      return false;
  }
}

namespace {

// Records events and the host's waits for the device.

std::uint64_t event_number(CUevent event) {
  return reinterpret_cast<std::uint64_t>(event);
}

void host_waited(CUstream stream, recording::HostWaits scope, CUevent event = nullptr) {
  recording::HostWaitT wait;
  wait.scope = scope;
  wait.event = event_number(event);
  tape().add(stream, wait);
}

void recorded(CUevent event, CUstream stream) {
  if (capturing(stream)) return;
  recording::EventRecordT record;
  record.event = event_number(event);
  tape().add(stream, record);
}

void waits(CUstream stream, CUevent event) {
  if (capturing(stream)) return;
  recording::EventWaitT wait;
  wait.event = event_number(event);
  tape().add(stream, wait);
}

}  // namespace

// Only queries that succeeded arrive here; such a query is equivalent to a wait.
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
