#include "calls.h"
#include "tape.h"

namespace kw::recorder {
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

// `value` is one element; its type tells how wide elements are.
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

}  // namespace kw::recorder
