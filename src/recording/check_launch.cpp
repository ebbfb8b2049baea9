#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "recording/check.h"
#include "recording/limits.h"
#include "recording/parts.h"

namespace kw::recording {
namespace {

// CUlaunchAttributeID, those that are plain numbers. The others hold handles of the process that launched.
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

// The window's first two words are where it begins and how long it is.
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

}  // namespace kw::recording
