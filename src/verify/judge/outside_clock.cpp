#include "verify/judge/outside_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "verify/judge/statistics.h"

namespace kw::verify {
namespace {

constexpr double host_noise_share = 0.15;
constexpr double host_noise_ms = 6e-3;
constexpr double marked_noise_share = 0.05;
constexpr double marked_noise_ms = 1.5e-3;
constexpr double change_of_process_ms = 0.1;

constexpr double batch_ms = 20.0;
constexpr std::uint32_t most_repeats = 256;
constexpr double longest_in_batch_ms = 500.0;
constexpr double preparation_ms = 100.0;  // at most, before a replay: poison, state, the cache
constexpr double clocks_agree = 1.25;  // greatest ratio of the supervisor's time of a batch to the device's
constexpr int comparisons = 3;         // a neighbour can delay one of them

wire::ReplayT batch_of(std::uint32_t repeats) {
  wire::ReplayT how;
  how.timed = true;
  how.repeats = repeats;
  return how;
}

ComparedClocks compared(std::uint32_t calls, double device_ms, double outside_ms) {
  const double tolerated_ms = clocks_agree * device_ms + 2.0 / calls + 0.02;
  ComparedClocks clocks{{calls, device_ms, FactSource::replay, outside_ms, tolerated_ms}, {}};
  if (outside_ms > tolerated_ms)
    clocks.finding = fmt::format(
        "clocks disagree: {} calls in a row take {:.4f} ms each by the device's events and {:.4f} ms by the "
        "supervisor's clock; the kernel's time is the supervisor's",
        calls, device_ms, outside_ms);
  return clocks;
}

async::Task<std::expected<ComparedClocks, ReplayFailure>> compare_once(Player& player, double single_ms) {
  auto repeats = static_cast<std::uint32_t>(std::clamp(batch_ms / single_ms, 2.0, double{most_repeats}));
  auto alone = co_await player.play(batch_of(1));
  if (!alone) co_return std::unexpected(std::move(alone.error()));
  // For a long call a single replay shows whether the clocks agree; a batch would take minutes.
  if (single_ms > longest_in_batch_ms)
    co_return compared(1, alone->facts.device_ms, alone->wall_ms - preparation_ms);
  auto batch = co_await player.play(batch_of(repeats));
  if (!batch) co_return std::unexpected(std::move(batch.error()));
  double outside_ms = (batch->wall_ms - alone->wall_ms) / (repeats - 1);
  co_return compared(repeats, std::max(batch->facts.device_ms / repeats, single_ms), outside_ms);
}

}  // namespace

double tolerated_host_ms(double device_ms) {
  return (1 + host_noise_share) * device_ms + host_noise_ms;
}

double tolerated_marked_ms(double device_ms) {
  return (1 + marked_noise_share) * device_ms + marked_noise_ms;
}

namespace {

double lower_quartile(std::vector<double> samples_ms) {
  const auto at = samples_ms.begin() + static_cast<std::ptrdiff_t>(samples_ms.size() / 4);
  std::ranges::nth_element(samples_ms, at);
  return *at;
}

// The time of the samples between the marks. Beside other processes the device often changes to one of them
// between a mark and its event, for 0.14 ms on an H200: then the least sample of a kernel counts, unless it
// has such a change in it too. Once in some hundred samples the first mark comes late, so alone on the device
// the quartile counts.
std::optional<double> marked_time(const SampleClocks& clocks, Side side, double device_ms) {
  if (clocks.marked_ms.empty()) return std::nullopt;
  if (clocks.alone)
    return side == Side::kernel ? lower_quartile(clocks.marked_ms) : midmean(clocks.marked_ms);
  const double least_ms = std::ranges::min(clocks.marked_ms);
  if (side == Side::reference || least_ms > device_ms + change_of_process_ms) return std::nullopt;
  return least_ms;
}

bool agree(Side side, double device_ms, double host_ms, double (*tolerated_ms)(double)) {
  return side == Side::kernel ? host_ms <= tolerated_ms(device_ms) : device_ms <= tolerated_ms(host_ms);
}

}  // namespace

Believed believe(const SampleClocks& clocks, Side side) {
  if (clocks.device_ms.empty()) return {};
  const double device_ms = midmean(clocks.device_ms);
  // A delay makes the host's time longer, never shorter.
  double host_ms = side == Side::kernel ? std::ranges::min(clocks.host_ms) : midmean(clocks.host_ms);
  Believed believed{clocks.device_ms, {}, {device_ms, host_ms, tolerated_host_ms(device_ms)}};
  const std::vector<double>* instead = nullptr;
  if (!agree(side, device_ms, host_ms, tolerated_host_ms)) instead = &clocks.host_ms;
  if (const auto marked_ms = marked_time(clocks, side, device_ms)) {
    believed.clocks.marked_ms = marked_ms;
    believed.clocks.tolerated_marked_ms = tolerated_marked_ms(device_ms);
    // Of two clocks that both disagree, the one further from the events is harder to falsify.
    const bool further = side == Side::kernel ? *marked_ms > host_ms : *marked_ms < host_ms;
    if (!agree(side, device_ms, *marked_ms, tolerated_marked_ms) && (instead == nullptr || further)) {
      instead = &clocks.marked_ms;
      host_ms = *marked_ms;
    }
  }
  if (instead == nullptr) return believed;
  believed.samples_ms = *instead;
  believed.finding = fmt::format(
      "clocks disagree: a replay of the {} takes {:.4f} ms by the device's events and {:.4f} ms by the "
      "host's clock; its time is the host's",
      side == Side::kernel ? "kernel" : "reference", device_ms, host_ms);
  return believed;
}

async::Task<std::expected<ComparedClocks, ReplayFailure>> compare_clocks(Player& player, double single_ms) {
  auto best = co_await compare_once(player, single_ms);
  for (int again = 1; again < comparisons && best && !best->finding.empty(); ++again) {
    auto next = co_await compare_once(player, single_ms);
    if (!next || next->check.supervisor_ms < best->check.supervisor_ms) best = std::move(next);
  }
  co_return best;
}

}  // namespace kw::verify
