#include "verify/messages/launch_list.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

namespace kw::wire {
namespace {

auto kernel_of(const LaunchT& launch) {
  return std::tie(launch.name, launch.cubin_sha256, launch.code, launch.grid, launch.block, launch.registers,
                  launch.spills, launch.shared_bytes);
}

}  // namespace

void shorten(LaunchList& launches) {
  using Kernel = decltype(kernel_of(*launches.front()));
  std::map<Kernel, std::int32_t> first;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    auto& launch = launches[i];
    const auto [known, is_first] = first.emplace(kernel_of(*launch), static_cast<std::int32_t>(i));
    if (is_first) continue;
    auto shortened = std::make_unique<LaunchT>();
    shortened->ms = launch->ms;
    shortened->stream = launch->stream;
    shortened->operation = launch->operation;
    shortened->same_as = known->second;
    launch = std::move(shortened);
  }
}

bool complete(LaunchList& launches) {
  for (std::size_t i = 0; i < launches.size(); ++i) {
    LaunchT& launch = *launches[i];
    if (launch.same_as < 0) continue;
    const auto from = static_cast<std::size_t>(launch.same_as);
    if (from >= i) return false;
    LaunchT whole = *launches[from];
    whole.ms = launch.ms;
    whole.stream = launch.stream;
    whole.operation = launch.operation;
    launch = std::move(whole);
  }
  return true;
}

}  // namespace kw::wire
