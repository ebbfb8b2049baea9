#include "verify/output_places.h"

#include <fmt/format.h>

namespace kw::verify {
namespace {

constexpr std::uint64_t alignment = 256;

std::uint64_t up(std::uint64_t value) {
  return (value + alignment - 1) / alignment * alignment;
}

class Placer {
 public:
  explicit Placer(const wire::CallSpecT& spec) : next_(up(spec.outputs_offset)), end_(spec.arena_bytes) {}

  Result<> place(wire::ValueT& value, std::vector<wire::OutputSpan>& spans) {
    if (value.kind == wire::ValueKind::tensor && value.tensor)
      if (auto done = place(*value.tensor, spans); !done) return done;
    for (auto& item : value.items)
      if (item)
        if (auto done = place(*item, spans); !done) return done;
    return {};
  }

 private:
  Result<> place(wire::TensorT& tensor, std::vector<wire::OutputSpan>& spans) {
    if (tensor.device != "cuda") return fail("an output lies on the host");
    std::uint64_t address = tensor.offset;
    tensor.offset = next_;
    if (tensor.bytes == 0) return {};
    // A runner that names more bytes than there are is stopped here, before sums can overflow.
    if (tensor.bytes > end_ || next_ > end_ - tensor.bytes)
      return fail(fmt::format("an output reaches over {} bytes, more than there is room for", tensor.bytes));
    spans.emplace_back(address, tensor.bytes, next_);
    next_ = up(next_ + tensor.bytes);
    return {};
  }

  std::uint64_t next_;
  std::uint64_t end_;
};

}  // namespace

Result<OutputPlaces> place_outputs(wire::ValueT outputs, const wire::CallSpecT& spec) {
  OutputPlaces places{std::move(outputs), {}};
  Placer placer(spec);
  if (auto done = placer.place(places.outputs, places.spans); !done) return std::unexpected(done.error());
  return places;
}

}  // namespace kw::verify
