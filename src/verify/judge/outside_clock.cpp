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
// No replay takes less. A clock that says so has a floor that other processes have delayed.
constexpr double least_credible_ms = 1e-3;

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

// The time of a kernel's samples between the marks. Beside other processes the device often changes to one of
// them between a mark and its event, for 0.14 ms on an H200: then the least sample counts, unless it has such
// a change in it too. Once in some hundred samples the first mark comes late, so alone on the device the
// quartile counts.
std::optional<double> marked_time_of_kernel(const SampleClocks& clocks, double device_ms) {
  if (clocks.marked_ms.empty()) return std::nullopt;
  if (clocks.alone) return lower_quartile(clocks.marked_ms);
  const double least_ms = std::ranges::min(clocks.marked_ms);
  return least_ms > device_ms + change_of_process_ms ? std::nullopt : std::optional(least_ms);
}

// A late first mark makes a reference's time shorter, so alone on the device the median counts.
std::optional<double> marked_time_of_reference(const SampleClocks& clocks) {
  if (clocks.marked_ms.empty() || !clocks.alone) return std::nullopt;
  const double marked_ms = median(clocks.marked_ms);
  return marked_ms < least_credible_ms ? std::nullopt : std::optional(marked_ms);
}

Believed replaced(Believed believed, const std::vector<double>& instead, Side side, double host_ms) {
  believed.samples_ms = instead;
  believed.finding = fmt::format(
      "clocks disagree: a replay of the {} takes {:.4f} ms by the device's events and {:.4f} ms by the "
      "host's clock; its time is the host's",
      side == Side::kernel ? "kernel" : "reference", believed.clocks.device_ms, host_ms);
  return believed;
}

Believed believe_kernel(const SampleClocks& clocks, double device_ms) {
  // A delay makes the host's time longer, never shorter.
  const double host_ms = std::ranges::min(clocks.host_ms);
  Believed believed{clocks.device_ms, {}, {device_ms, host_ms, tolerated_host_ms(device_ms)}};
  const bool host_agrees = host_ms <= tolerated_host_ms(device_ms);
  const auto marked_ms = marked_time_of_kernel(clocks, device_ms);
  if (marked_ms) {
    believed.clocks.marked_ms = marked_ms;
    believed.clocks.tolerated_marked_ms = tolerated_marked_ms(device_ms);
    // Of two clocks that both disagree, the one further from the events is harder to falsify.
    if (*marked_ms > tolerated_marked_ms(device_ms) && (host_agrees || *marked_ms > host_ms))
      return replaced(std::move(believed), clocks.marked_ms, Side::kernel, *marked_ms);
  }
  if (host_agrees) return believed;
  return replaced(std::move(believed), clocks.host_ms, Side::kernel, host_ms);
}

// The marks decide where the host saw them: the other clock's floor varies more between processes. A wait
// without any floor subtracted is never shorter than the replay.
Believed believe_reference(const SampleClocks& clocks, double device_ms) {
  const double host_ms = median(clocks.host_ms);
  const bool is_credible = host_ms >= least_credible_ms;
  const std::vector<double>& waits_ms = is_credible ? clocks.host_ms : clocks.wait_ms;
  const double wait_ms = is_credible ? host_ms : median(waits_ms);
  Believed believed{clocks.device_ms, {}, {device_ms, wait_ms, tolerated_host_ms(device_ms)}};
  if (const auto marked_ms = marked_time_of_reference(clocks)) {
    if (device_ms <= tolerated_marked_ms(*marked_ms)) return believed;
    return replaced(std::move(believed), clocks.marked_ms, Side::reference, *marked_ms);
  }
  if (device_ms <= tolerated_host_ms(wait_ms)) return believed;
  return replaced(std::move(believed), waits_ms, Side::reference, wait_ms);
}

}  // namespace

Believed believe(const SampleClocks& clocks, Side side) {
  if (clocks.device_ms.empty()) return {};
  const double device_ms = midmean(clocks.device_ms);
  return side == Side::kernel ? believe_kernel(clocks, device_ms) : believe_reference(clocks, device_ms);
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
