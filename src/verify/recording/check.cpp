#include "verify/recording/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/core/crypto.h"
#include "verify/recording/limits.h"
#include "verify/recording/recording.h"

namespace kw::recording {
namespace {

Result<Span> checked_region(const Span* given, const char* what, std::uint64_t address,
                            std::uint64_t max_bytes) {
  if (given == nullptr || given->bytes() == 0) return Span(address, 0);
  if (given->address() != address)
    return fail(fmt::format("the {} begins at {:#x} and not at {:#x}", what, given->address(), address));
  if (given->bytes() > max_bytes)
    return fail(fmt::format("the {} has {} bytes; {} is the most", what, given->bytes(), max_bytes));
  return *given;
}

// Sorts the spans and returns whether any two share a byte. Each is inside the heap, so no end overflows.
bool overlap(std::vector<Span>& spans) {
  auto before = [](const Span& a, const Span& b) { return a.address() < b.address(); };
  std::sort(spans.begin(), spans.end(), before);
  auto meets = [](const Span& a, const Span& b) { return a.address() + a.bytes() > b.address(); };
  return std::adjacent_find(spans.begin(), spans.end(), meets) != spans.end();
}

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
  auto heap = checked_region(recording.heap(), "heap", heap_address, max_heap_bytes);
  if (!heap) return std::unexpected(heap.error());
  auto arena = checked_region(recording.arena(), "arena", arena_address, max_arena_bytes);
  if (!arena) return std::unexpected(arena.error());
  memory.heap_ = *heap;
  memory.arena_ = *arena;
  if (auto good = check_committed(*heap, recording); !good) return std::unexpected(good.error());
  if (auto good = check_state(*heap, recording); !good) return std::unexpected(good.error());
  for (const auto* spans : {recording.scratch(), recording.reserved()})
    if (auto good = in_heap(*heap, spans, spans == recording.scratch() ? "scratch" : "reserved"); !good)
      return std::unexpected(good.error());
  return memory;
}

bool Memory::holds(std::uint64_t address, std::uint64_t bytes) const {
  return bytes == 0 || lies_in(heap_, address, bytes) || lies_in(arena_, address, bytes);
}

namespace {

Result<> check_globals(const Cubin& cubin, const Elf& elf, Budget& budget) {
  if (size_of(cubin.globals()) > max_globals) return fail(fmt::format("more than {} globals", max_globals));
  for (std::size_t i = 0; i < size_of(cubin.globals()); ++i) {
    const Global& global = *entry(cubin.globals(), i);
    std::string_view name = text_of(global.name());
    if (!budget.take(name.size() + size_of(global.bytes()))) return fail("its globals are too large");
    if (!elf.has_object(name, size_of(global.bytes())))
      return fail(fmt::format("global {}: the image has no such variable of that size", i));
  }
  return {};
}

Result<Elf> check_cubin(const Cubin& cubin, Checks checks, Budget& budget) {
  auto image = bytes_of(cubin.image());
  if (!budget.take(image.size())) return fail("the images are too large together");
  if (checks.hashes && text_of(cubin.sha256()) != sha256_hex(as_text(image)))
    return fail("the image is not what its hash says");
  auto elf = Elf::of(image);
  if (!elf) return elf;
  if (auto good = check_globals(cubin, *elf, budget); !good) return std::unexpected(good.error());
  return elf;
}

}  // namespace

Result<std::vector<Elf>> check_cubins(const Recording& recording, Checks checks, Budget& budget) {
  std::vector<Elf> images;
  std::size_t count = size_of(recording.cubins());
  if (count > max_cubins) return fail(fmt::format("{} cubins; {} is the most", count, max_cubins));
  for (std::size_t i = 0; i < count; ++i) {
    auto elf = check_cubin(*entry(recording.cubins(), i), checks, budget);
    if (!elf) return fail(fmt::format("cubin {}: {}", i, elf.error().what));
    images.push_back(std::move(*elf));
  }
  return images;
}

namespace {

// Values of CUlaunchAttributeID that hold plain numbers. The others hold handles of the launching process.
enum : std::uint32_t {
  ignore = 0,
  access_policy_window = 1,
  cooperative = 2,
  synchronization_policy = 3,
  cluster_dimension = 4,
  cluster_scheduling_policy = 5,
  programmatic_stream_serialization = 6,
  priority = 8,
  mem_sync_domain_map = 9,
  mem_sync_domain = 10,
  preferred_cluster_dimension = 11,
  preferred_shared_memory_carveout = 14,
  nvlink_centric_scheduling = 16,
};

bool can_be_replayed(std::uint32_t attribute) {
  switch (attribute) {
    case ignore:
    case access_policy_window:
    case cooperative:
    case synchronization_policy:
    case cluster_dimension:
    case cluster_scheduling_policy:
    case programmatic_stream_serialization:
    case priority:
    case mem_sync_domain_map:
    case mem_sync_domain:
    case preferred_cluster_dimension:
    case preferred_shared_memory_carveout:
    case nvlink_centric_scheduling:
      return true;
    default:
      return false;
  }
}

// The window's first two 64-bit words are its address and its length.
Result<> check_window(std::span<const std::uint8_t> value, const Memory& memory) {
  std::uint64_t words[2] = {};
  if (value.size() < sizeof words) return fail("its access policy window is cut short");
  std::memcpy(words, value.data(), sizeof words);
  if (!memory.holds(words[0], words[1]))
    return fail("its access policy window reaches beyond heap and arena");
  return {};
}

Result<> check_attributes(const Launch& launch, const Memory& memory) {
  if (size_of(launch.attributes()) > max_attributes)
    return fail(fmt::format("it has more than {} attributes", max_attributes));
  for (std::size_t i = 0; i < size_of(launch.attributes()); ++i) {
    const Attribute& attribute = *entry(launch.attributes(), i);
    auto value = bytes_of(attribute.value());
    if (value.size() > max_attribute_bytes)
      return fail(fmt::format("the value of attribute {} has more than {} bytes", attribute.id(),
                              max_attribute_bytes));
    if (!can_be_replayed(attribute.id()))
      return fail(fmt::format("attribute {} cannot be replayed", attribute.id()));
    if (attribute.id() == access_policy_window)
      if (auto good = check_window(value, memory); !good) return good;
  }
  return {};
}

Result<> check_parameters(const Launch& launch, Budget& budget) {
  std::size_t bytes = size_of(launch.parameters());
  if (bytes > max_parameter_bytes || !budget.take(bytes)) return fail("its parameters are too large");
  if (size_of(launch.layout()) > max_layout) return fail("it has too many parameters");
  const Span all(0, bytes);
  for (std::size_t i = 0; i < size_of(launch.layout()); ++i) {
    const Parameter& parameter = *entry(launch.layout(), i);
    if (!lies_in(all, parameter.offset(), parameter.bytes()))
      return fail(fmt::format("parameter {} lies beyond its buffer", i));
  }
  return {};
}

Result<> check_shape(const Launch& launch) {
  const Dim* grid = launch.grid();
  const Dim* block = launch.block();
  if (grid == nullptr || block == nullptr) return fail("it has no grid or no block");
  auto within = [](std::uint32_t count, std::uint32_t most) { return count > 0 && count <= most; };
  if (!within(grid->x(), max_grid_x) || !within(grid->y(), max_grid_yz) || !within(grid->z(), max_grid_yz))
    return fail(
        fmt::format("its grid of {} x {} x {} is none that CUDA allows", grid->x(), grid->y(), grid->z()));
  bool sides = within(block->x(), max_block_threads) && within(block->y(), max_block_threads) &&
               within(block->z(), max_block_threads);
  if (!sides || block->x() * block->y() * block->z() > max_block_threads)
    return fail(fmt::format("its block of {} x {} x {} is none that CUDA allows", block->x(), block->y(),
                            block->z()));
  return {};
}

Result<> check_name(const Launch& launch, const Surroundings& around) {
  if (launch.cubin() >= around.cubins.size())
    return fail(fmt::format("there is no cubin {}", launch.cubin()));
  std::string_view name = text_of(launch.name());
  if (name.empty()) return fail("its kernel has no name");
  if (name.size() > max_kernel_name_bytes || !around.budget.take(name.size()))
    return fail("the name of its kernel is too long");
  if (!std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7F'; }))
    return fail("the name of its kernel has characters that no symbol has");
  if (!around.cubins[launch.cubin()].has_kernel(name))
    return fail(fmt::format("cubin {} has no kernel of that name", launch.cubin()));
  return {};
}

}  // namespace

Result<> check_launch(const Launch& launch, const Surroundings& around) {
  if (auto good = check_name(launch, around); !good) return good;
  if (auto good = check_shape(launch); !good) return good;
  if (auto good = check_parameters(launch, around.budget); !good) return good;
  return check_attributes(launch, around.memory);
}

namespace {

Result<> check_copy(const Copy& copy, const Memory& memory) {
  if (!memory.holds(copy.to(), reach(copy.row_bytes(), copy.rows(), copy.to_pitch())))
    return fail("the copy writes beyond heap and arena");
  if (!memory.holds(copy.from(), reach(copy.row_bytes(), copy.rows(), copy.from_pitch())))
    return fail("the copy reads beyond heap and arena");
  return {};
}

Result<> check_fill(const Fill& fill, const Memory& memory) {
  if (fill.width() != 1 && fill.width() != 2 && fill.width() != 4)
    return fail(fmt::format("the fill's elements have {} bytes", fill.width()));
  std::uint64_t row_bytes = 0;
  if (__builtin_mul_overflow(fill.columns(), std::uint64_t{fill.width()}, &row_bytes) ||
      !memory.holds(fill.to(), reach(row_bytes, fill.rows(), fill.pitch())))
    return fail("the fill reaches beyond heap and arena");
  return {};
}

Result<> check_transfer(const char* what, std::uint64_t address, std::size_t bytes,
                        const Surroundings& around) {
  if (!around.budget.take(bytes)) return fail(fmt::format("the {} is too large", what));
  if (!around.memory.holds(address, bytes))
    return fail(fmt::format("the {} reaches beyond heap and arena", what));
  return {};
}

Result<> check_work(const Operation& operation, const Surroundings& around) {
  if (operation.stream() >= around.streams)
    return fail(fmt::format("there is no stream {}", operation.stream()));
  if (operation.work() == nullptr) return fail("it has no work");
  switch (operation.work_type()) {
    case Work::Launch:
      return check_launch(*operation.work_as_Launch(), around);
    case Work::Copy:
      return check_copy(*operation.work_as_Copy(), around.memory);
    case Work::Fill:
      return check_fill(*operation.work_as_Fill(), around.memory);
    case Work::Upload: {
      const Upload& upload = *operation.work_as_Upload();
      return check_transfer("upload", upload.to(), size_of(upload.bytes()), around);
    }
    case Work::Download: {
      const Download& download = *operation.work_as_Download();
      return check_transfer("download", download.from(), size_of(download.bytes()), around);
    }
    case Work::EventRecord:
    case Work::EventWait:
      return {};
    case Work::HostWait:
      if (operation.work_as_HostWait()->scope() > HostWaits::MAX)
        return fail("the host waits for nothing known");
      return {};
    default:
      return fail("it is of an unknown kind");
  }
}

}  // namespace

Result<> check_operations(const Recording& recording, const Surroundings& around) {
  std::size_t count = size_of(recording.operations());
  if (count > max_operations)
    return fail(fmt::format("{} operations; {} is the most", count, max_operations));
  for (std::size_t i = 0; i < count; ++i)
    if (auto good = check_work(*entry(recording.operations(), i), around); !good)
      return fail(fmt::format("operation {}: {}", i, good.error().what));
  return {};
}

}  // namespace kw::recording
