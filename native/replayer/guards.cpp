#include "guards.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw::replayer {
namespace {

// The recorder leaves so much behind each allocation.
constexpr std::uint64_t guard_bytes = 512;
constexpr std::size_t most_guards = 256;

void add(std::vector<Extent>& blocks, std::uint64_t address, std::uint64_t bytes) {
  if (bytes > 0) blocks.push_back({address, bytes});
}

std::vector<Extent> allocations(const recording::Recording& recording) {
  std::vector<Extent> blocks;
  if (recording.scratch() != nullptr)
    for (const recording::Span* each : *recording.scratch()) add(blocks, each->address(), each->bytes());
  if (recording.state() != nullptr)
    for (const recording::Block* each : *recording.state()) add(blocks, each->address(), each->bytes());
  std::ranges::sort(blocks, {}, &Extent::address);
  return blocks;
}

bool lies_in(const Extent& zone, const recording::Recording& recording) {
  if (recording.committed() == nullptr) return false;
  return std::ranges::any_of(*recording.committed(), [&](const recording::Span* each) {
    return zone.address >= each->address() && zone.address + zone.bytes <= each->address() + each->bytes();
  });
}

}  // namespace

std::vector<Extent> guarded(const recording::Recording& recording) {
  std::vector<Extent> blocks = allocations(recording);
  std::vector<Extent> zones;
  CUdeviceptr end = 0;  // of all allocations so far, which may overlap: memory is used again
  for (std::size_t i = 0; i < blocks.size() && zones.size() < most_guards; ++i) {
    end = std::max(end, blocks[i].address + blocks[i].bytes);
    bool last = i + 1 == blocks.size();
    if (!last && blocks[i + 1].address <= end) continue;
    std::uint64_t room =
        last ? guard_bytes : std::min<std::uint64_t>(guard_bytes, blocks[i + 1].address - end);
    Extent zone{end, room};
    if (lies_in(zone, recording)) zones.push_back(zone);
  }
  return zones;
}

Outcome<std::string> Guards::read(const Extent& zone) const {
  std::string bytes(zone.bytes, '\0');
  auto done = device_.checked(device_.driver().cuMemcpyDtoH(bytes.data(), zone.address, zone.bytes),
                              "looking behind an allocation");
  if (!done) return std::unexpected(done.error());
  return bytes;
}

Outcome<> Guards::remember(const std::vector<Extent>& zones) {
  for (const Extent& zone : zones) {
    auto bytes = read(zone);
    if (!bytes) return std::unexpected(bytes.error());
    zones_.push_back(zone);
    kept_.push_back(std::move(*bytes));
  }
  return {};
}

Outcome<std::string> Guards::overrun() const {
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    auto bytes = read(zones_[i]);
    if (!bytes) return std::unexpected(bytes.error());
    if (*bytes == kept_[i]) continue;
    auto [now, before] = std::ranges::mismatch(*bytes, kept_[i]);
    return fmt::format("the allocation that ends at {:#x}, {} bytes beyond it", zones_[i].address,
                       now - bytes->begin());
  }
  return std::string{};
}

}  // namespace kw::replayer
