#include "recording/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "recording/limits.h"
#include "recording/parts.h"

namespace kw::recording {
namespace {

Result<Span> region(const Span* given, const char* what, std::uint64_t address, std::uint64_t max_bytes) {
  if (given == nullptr || given->bytes() == 0) return Span(address, 0);
  if (given->address() != address)
    return fail(fmt::format("the {} begins at {:#x} and not at {:#x}", what, given->address(), address));
  if (given->bytes() > max_bytes)
    return fail(fmt::format("the {} has {} bytes; {} is the most", what, given->bytes(), max_bytes));
  return *given;
}

// Sorts them, and says whether any two have a byte in common. Each lies in the heap, so no end overflows.
bool overlap(std::vector<Span>& spans) {
  auto before = [](const Span& a, const Span& b) { return a.address() < b.address(); };
  std::sort(spans.begin(), spans.end(), before);
  auto meets = [](const Span& a, const Span& b) { return a.address() + a.bytes() > b.address(); };
  return std::adjacent_find(spans.begin(), spans.end(), meets) != spans.end();
}

using Spans = flatbuffers::Vector<const Span*>;

Result<std::vector<Span>> in_heap(const Span& heap, const Spans* list, const char* what) {
  std::vector<Span> spans;
  if (size_of(list) > max_spans)
    return fail(fmt::format("{} spans of {} memory; {} is the most", list->size(), what, max_spans));
  for (std::size_t i = 0; i < size_of(list); ++i) {
    const Span& span = *entry(list, i);
    if (!lies_in(heap, span.address(), span.bytes()))
      return fail(fmt::format("{} memory, span {}: it reaches beyond the heap", what, i));
    if (span.bytes() > 0) spans.push_back(span);
  }
  return spans;
}

Result<> check_committed(const Span& heap, const Recording& recording) {
  auto spans = in_heap(heap, recording.committed(), "committed");
  if (!spans) return std::unexpected(spans.error());
  if (overlap(*spans)) return fail("committed memory: two spans overlap");
  return {};
}

Result<> check_state(const Span& heap, const Recording& recording) {
  if (recording.state_bytes() > max_state_bytes)
    return fail(
        fmt::format("the state has {} bytes; {} is the most", recording.state_bytes(), max_state_bytes));
  std::size_t count = size_of(recording.state());
  if (count > max_spans) return fail(fmt::format("{} blocks of state; {} is the most", count, max_spans));
  std::vector<Span> spans;
  const Span kept(0, recording.state_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    const Block& block = *entry(recording.state(), i);
    if (!lies_in(heap, block.address(), block.bytes()))
      return fail(fmt::format("block {} of the state: it reaches beyond the heap", i));
    if (!lies_in(kept, block.at(), block.bytes()))
      return fail(fmt::format("block {} of the state: its bytes reach beyond the state's memory", i));
    if (block.bytes() > 0) spans.emplace_back(block.address(), block.bytes());
  }
  if (overlap(spans)) return fail("two blocks of the state overlap");
  return {};
}

}  // namespace

bool lies_in(const Span& span, std::uint64_t address, std::uint64_t bytes) {
  if (address < span.address() || bytes > span.bytes()) return false;
  return address - span.address() <= span.bytes() - bytes;
}

std::optional<std::uint64_t> reach(std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t pitch) {
  if (row_bytes == 0 || rows == 0) return 0;
  if (rows == 1) return row_bytes;
  if (pitch < row_bytes) return std::nullopt;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(rows - 1, pitch, &bytes)) return std::nullopt;
  if (__builtin_add_overflow(bytes, row_bytes, &bytes)) return std::nullopt;
  return bytes;
}

Result<Memory> Memory::of(const Recording& recording) {
  Memory memory;
  auto heap = region(recording.heap(), "heap", heap_address, max_heap_bytes);
  if (!heap) return std::unexpected(heap.error());
  auto arena = region(recording.arena(), "arena", arena_address, max_arena_bytes);
  if (!arena) return std::unexpected(arena.error());
  memory.heap_ = *heap;
  memory.arena_ = *arena;
  if (auto good = check_committed(*heap, recording); !good) return std::unexpected(good.error());
  if (auto good = check_state(*heap, recording); !good) return std::unexpected(good.error());
  if (auto good = in_heap(*heap, recording.scratch(), "scratch"); !good) return std::unexpected(good.error());
  return memory;
}

bool Memory::holds(std::uint64_t address, std::uint64_t bytes) const {
  return bytes == 0 || lies_in(heap_, address, bytes) || lies_in(arena_, address, bytes);
}

}  // namespace kw::recording
