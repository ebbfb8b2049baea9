#include "host_copies.h"

#include <cstring>

namespace kw::replayer {
namespace {

std::span<const std::uint8_t> span_of(const flatbuffers::Vector<std::uint8_t>* bytes) {
  if (bytes == nullptr) return {};
  return {bytes->data(), bytes->size()};
}

}  // namespace

Outcome<HostCopies> HostCopies::make(const driver::Driver& driver, const recording::Recording& recording) {
  constexpr std::size_t alignment = 64;
  HostCopies result;
  std::size_t total = 0;
  std::size_t count = recording.operations() == nullptr ? 0 : recording.operations()->size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto* operation = recording.operations()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const auto* upload = operation->work_as_Upload();
    const auto* download = operation->work_as_Download();
    if (upload == nullptr && download == nullptr) continue;
    auto recorded = span_of(upload != nullptr ? upload->bytes() : download->bytes());
    result.copies_.emplace(i, Copy{recorded, total, upload != nullptr});
    result.downloads_ += download != nullptr ? 1 : 0;
    total += (recorded.size() + alignment - 1) / alignment * alignment;
  }
  auto memory = Pinned::make(driver, total);
  if (!memory)
    return unsupported("what it copies from and to the host does not fit: " + memory.error().error);
  result.memory_ = std::move(*memory);
  return result;
}

void HostCopies::refill() {
  for (auto& [operation, copy] : copies_) {
    if (copy.recorded.empty()) continue;
    std::span<char> place = of(operation);
    std::memcpy(place.data(), copy.recorded.data(), copy.recorded.size());
    // So that a download that never comes is seen.
    if (!copy.upload)
      for (char& each : place) each = static_cast<char>(~each);
  }
}

std::span<char> HostCopies::of(std::size_t operation) const {
  const Copy& copy = copies_.at(operation);
  return memory_.bytes().subspan(copy.at, copy.recorded.size());
}

bool HostCopies::downloads_equal() const {
  for (const auto& [operation, copy] : copies_)
    if (!copy.upload && !copy.recorded.empty() &&
        std::memcmp(memory_.bytes().data() + copy.at, copy.recorded.data(), copy.recorded.size()) != 0)
      return false;
  return true;
}

}  // namespace kw::replayer
