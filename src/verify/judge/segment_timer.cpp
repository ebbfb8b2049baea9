#include "verify/judge/segment_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/judge/replay_timer.h"
#include "verify/judge/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr auto segment_timing_limit = 5s;
constexpr std::size_t most_samples = 40;
constexpr double precision_of_whole = 2;  // multiple of the precision of the whole call's time
constexpr double least_precision_ms = 1e-4;

wire::ReplayT split_replay(std::size_t slot) {
  wire::ReplayT how = timed_replay();
  how.split = true;
  how.slot = static_cast<std::uint32_t>(slot);
  return how;
}

void add(PassSamples& samples, const wire::ReplayedT& facts, std::optional<double> floor_ms) {
  const double floor_change_ms = facts.floor_ms - floor_ms.value_or(facts.floor_ms);
  samples.forward_ms.push_back(std::max(0.0, facts.forward_ms + floor_change_ms));
  samples.backward_ms.push_back(std::max(0.0, facts.backward_ms + floor_change_ms));
}

}  // namespace

async::Task<Outcome<>> SegmentTimer::sample(Times& times) {
  times.why_no_segments = why_not();
  if (!times.why_no_segments.empty()) co_return Outcome<>{};
  engine::Lease turn;
  if (!device_.is_alone()) {
    const Timeline::Span span(case_.row, "wait for a turn to time");
    turn = co_await case_.context.timing_turns.share();
  }
  SegmentSamples samples;
  const auto limit = async::Deadline::in(segment_timing_limit);
  const std::size_t most = std::min<std::size_t>(case_.settings.timing_trials, most_samples);
  for (std::size_t round = 0; round < most && !are_settled(samples) && (round == 0 || !limit.passed());
       ++round) {
    auto sampled = co_await sample_once(times, samples);
    if (!sampled) co_return std::unexpected(sampled.error());
    if (!*sampled) co_return Outcome<>{};
  }
  times.segments = std::move(samples);
  co_return Outcome<>{};
}

// Empty if both sides can be timed by passes.
std::string SegmentTimer::why_not() const {
  if (!reference_.player) return "the reference cannot be replayed: " + reference_.why_not;
  if (const auto& reason = reference_.player->facts(0).not_split; !reason.empty())
    return "the passes of the reference cannot be told apart: " + reason;
  for (std::size_t tape = 0; tape < own_.tapes().size(); ++tape)
    if (const auto& reason = own_.player().facts(tape).not_split; !reason.empty())
      return "the passes of the kernel cannot be told apart: " + reason;
  return {};
}

// One sample of each side; false: the reference's replay failed.
async::Task<Outcome<bool>> SegmentTimer::sample_once(Times& times, SegmentSamples& samples) {
  auto theirs = co_await reference_.player->play(split_replay(0));
  if (!theirs) {
    auto words = words_of(theirs.error());
    reference_ = {.why_not = words.value_or("")};
    if (!words) co_return std::unexpected(words.error());
    times.why_no_segments = "the reference's replay failed: " + *words;
    co_return false;
  }
  const std::size_t slot = samples.kernel.forward_ms.size() % own_.tapes().size();
  auto own = co_await played_right(own_.player(), split_replay(slot), times.seen);
  if (!own) co_return std::unexpected(own.error());
  add(samples.reference, theirs->facts, times.floor_ms);
  add(samples.kernel, *own, times.floor_ms);
  co_return true;
}

bool SegmentTimer::are_settled(const SegmentSamples& samples) const {
  const Precision wanted{.share = precision_of_whole * case_.settings.timing_precision,
                         .ms = least_precision_ms};
  auto settled = [&](const std::vector<double>& ms) { return is_settled(ms, least_samples, wanted); };
  return settled(samples.kernel.forward_ms) && settled(samples.kernel.backward_ms) &&
         settled(samples.reference.forward_ms) && settled(samples.reference.backward_ms);
}

}  // namespace kw::verify
