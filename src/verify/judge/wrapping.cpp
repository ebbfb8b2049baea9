#include "verify/judge/wrapping.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kw::verify {
namespace {

constexpr double least_by_library = 0.95;
constexpr double most_left_out = 0.05;

struct Sum {
  double blocks = 0;
  double time_ms = 0;
};

// A cubin of PyTorch's holds many kernels, so the name within it counts too.
using Kernel = std::pair<std::string, std::string>;

std::map<Kernel, Sum> by_kernel(const TimedLaunches& launches) {
  std::map<Kernel, Sum> sums;
  for (const TimedLaunch& each : launches) {
    Sum& sum = sums[{each.cubin_sha256, each.name}];
    sum.blocks += each.blocks;
    sum.time_ms += each.time_ms;
  }
  return sums;
}

double total_ms(const TimedLaunches& launches) {
  double sum_ms = 0;
  for (const TimedLaunch& each : launches) sum_ms += each.time_ms;
  return sum_ms;
}

}  // namespace

std::optional<ReferenceShares> shares_of_reference(const TimedLaunches& reference,
                                                   const TimedLaunches& library) {
  const double all_ms = total_ms(reference);
  if (all_ms <= 0) return {};
  const std::map<Kernel, Sum> made = by_kernel(library);
  double left_out_ms = 0;
  for (const auto& [kernel, theirs] : by_kernel(reference)) {
    const auto own = made.find(kernel);
    const double blocks = own == made.end() ? 0 : own->second.blocks;
    left_out_ms += theirs.time_ms * std::max(0.0, 1 - blocks / theirs.blocks);
  }
  return ReferenceShares{total_ms(library) / all_ms, left_out_ms / all_ms};
}

bool wraps_reference(const ReferenceShares& shares) {
  return shares.by_library >= least_by_library && shares.left_out < most_left_out;
}

TimedLaunch timed_launch(const wire::LaunchT& launch, double time_ms) {
  double blocks = 1;
  for (const std::uint64_t extent : launch.grid)
    blocks *= static_cast<double>(std::max<std::uint64_t>(extent, 1));
  return {launch.name, launch.cubin_sha256, blocks, time_ms};
}

async::Task<std::expected<std::vector<double>, ReplayFailure>> launch_times(Player& player,
                                                                            std::uint32_t recording,
                                                                            int passes) {
  std::vector<double> least_ms;
  for (int pass = 0; pass < passes; ++pass) {
    wire::ReplayT how;
    how.slot = recording;
    how.order = wire::Order::serial;
    how.each_launch = true;
    auto played = co_await player.play(std::move(how));
    if (!played) co_return std::unexpected(std::move(played.error()));
    const std::vector<double>& times_ms = played->facts.launch_ms;
    if (pass == 0) least_ms = times_ms;
    least_ms.resize(std::min(least_ms.size(), times_ms.size()));
    for (std::size_t i = 0; i < least_ms.size(); ++i)
      least_ms[i] = std::max(0.0, std::min(least_ms[i], times_ms[i]));
  }
  co_return least_ms;
}

}  // namespace kw::verify
