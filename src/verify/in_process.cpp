// The way of a candidate whose calls cannot be replayed: judged on fresh inputs at every call, timed ones
// included, and timed by events of its own process. Its time is a claim, which an outside clock bounds;
// `trust` says so.
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "verify/attempt.h"
#include "verify/blame.h"
#include "verify/limits.h"
#include "verify/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t calls_a_round = 10;
constexpr std::size_t least_events = 40;
constexpr double round_budget_ms = 2'000;
constexpr auto timing_limit = 20s;
constexpr double slack_ms =
    5.0;  // of the outside clock: messages, mapping the inputs, the host's part of a call
constexpr std::uint32_t clocked_calls = 3;
constexpr double believable_share = 0.5;

}  // namespace

async::Task<Step> Attempt::try_in_process(wire::Weights weights) {
  deadline_ = async::Deadline::in(settings_.timeout);
  if (co_await start_gpu_runner() == Step::ended) co_return Step::ended;
  if (co_await load(wire::Mode::cuda, weights, "nan") == Step::ended) co_return Step::ended;
  if (co_await first_calls() == Step::ended) co_return Step::ended;
  for (std::uint32_t k = 2; k < settings_.correctness_trials; ++k)
    if (co_await trial(k, settings_.timeout) == Step::ended) co_return Step::ended;
  live_calls_ = settings_.correctness_trials;
  if (launches_seen_ == 0) co_return Step::go_on;
  // Without its launches an honest candidate may well fail, so what goes wrong here is no fault of its own.
  Verdict before = verdict_;
  bool returned = co_await call(settings_.correctness_trials, {.skip_launches = true}, 20s) == Step::go_on;
  verdict_ = std::move(before);
  if (stopped_) co_return Step::ended;
  if (returned) {
    decoy_ = co_await right_without_launches();
    co_return Step::go_on;
  }
  co_await end_runner();
  if (co_await start_gpu_runner() == Step::ended) co_return Step::ended;
  co_return co_await load(wire::Mode::cuda, weights, "nan");
}

// Milliseconds of the fastest of a few calls by our own clock, nothing but the call in them.
async::Task<Step> Attempt::clock_calls(double* least_wall_ms) {
  for (std::uint32_t each = 0; each < clocked_calls; ++each) {
    std::uint32_t number = live_calls_++;
    if (co_await draw(number) == Step::ended) co_return Step::ended;
    auto began = async::SteadyClock::now();
    if (co_await call(number, {}, settings_.timeout) == Step::ended) co_return Step::ended;
    *least_wall_ms = std::min(*least_wall_ms, async::ms_since(began));
    if (co_await judge(number) == Step::ended) co_return Step::ended;
  }
  co_return Step::go_on;
}

// Calls on inputs that it has never seen, each judged: whatever it keeps of earlier ones is of no use.
async::Task<Step> Attempt::timed_calls(std::uint32_t count) {
  for (std::uint32_t each = 0; each < count; ++each) {
    std::uint32_t number = live_calls_++;
    if (co_await draw(number) == Step::ended) co_return Step::ended;
    if (co_await call(number, {.timed = true}, settings_.timeout) == Step::ended) co_return Step::ended;
    double claimed_ms = returned_.device_ms;
    if (co_await judge(number) == Step::ended) co_return Step::ended;
    if (claimed_ms >= 0) verdict_.timing.kernel_samples_ms.push_back(claimed_ms);
  }
  co_return Step::go_on;
}

async::Task<Step> Attempt::time_in_process() {
  if (settings_.timing_trials == 0) co_return Step::go_on;
  co_await device_.drain();
  auto start = async::SteadyClock::now();
  deadline_ = async::Deadline::in(settings_.timeout);
  Timing& timing = verdict_.timing;
  auto limit = async::Deadline::in(timing_limit);
  const Precision wanted{.share = settings_.timing_precision};
  double least_wall_ms = 1e300;
  if (co_await clock_calls(&least_wall_ms) == Step::ended) co_return Step::ended;
  if (co_await timed_calls(1) == Step::ended) co_return Step::ended;
  timing.kernel_samples_ms.clear();
  while (timing.kernel_samples_ms.size() < settings_.timing_trials && !limit.passed()) {
    wire::TimeReferenceT reference;
    reference.seed = drawn_.seed;
    reference.warmup = timing.reference_samples_ms.empty() ? settings_.timing_warmup : 1;
    reference.calls = calls_a_round;
    reference.budget_ms = round_budget_ms;
    reference.flush_l2 = true;
    auto theirs = co_await oracle_.time_reference(reference, timing_limit + 40s);
    if (!theirs) co_return end(theirs.error());
    std::ranges::copy(theirs->samples_ms, std::back_inserter(timing.reference_samples_ms));
    if (co_await timed_calls(calls_a_round) == Step::ended) co_return Step::ended;
    if (timing.kernel_samples_ms.empty()) break;
    if (is_settled(timing.kernel_samples_ms, least_events, wanted) &&
        is_settled(timing.reference_samples_ms, least_events, wanted))
      break;
  }
  verdict_.stages_ms[Stage::time] += async::ms_since(start);
  timing.instrument = "cuda-events";
  if (timing.kernel_samples_ms.empty() || timing.reference_samples_ms.empty()) {
    timing.why_null = "no call ended within the time for timing";
    co_return Step::go_on;
  }
  bound_by_outside_clock(least_wall_ms);
  take_times();
  co_return Step::go_on;
}

// A call that took this long by our clock did not take a fraction of it on the device, unless its host was
// slow; which of the two it was we cannot see, so that only what is far apart counts.
void Attempt::bound_by_outside_clock(double least_wall_ms) {
  Timing& timing = verdict_.timing;
  double outside_ms = believable_share * (least_wall_ms - slack_ms);
  if (midmean(timing.kernel_samples_ms) >= outside_ms) return;
  verdict_.comparison->findings.push_back(fmt::format(
      "its process claims {:.3f} ms a call where a clock outside saw {:.3f} ms: the claim is raised to "
      "half of that",
      midmean(timing.kernel_samples_ms), least_wall_ms));
  for (double& sample : timing.kernel_samples_ms) sample = std::max(sample, outside_ms);
}

// Median milliseconds of whole calls, the host's part included, of candidate and reference: a claim.
async::Task<> Attempt::time_whole_calls() {
  if (settings_.timing_trials == 0) co_return;
  wire::TimeCandidateT candidate;
  candidate.warmup = 1;
  candidate.calls = 1;
  candidate.budget_ms = round_budget_ms / 4;
  wire::TimeReferenceT reference;
  reference.seed = drawn_.seed;
  reference.warmup = 1;
  reference.calls = 1;
  reference.budget_ms = round_budget_ms / 4;
  auto own = co_await candidate_.time(candidate, own_deadline(timing_limit));
  auto theirs = co_await oracle_.time_reference(reference, timing_limit);
  if (own && theirs && own->call_ms > 0 && theirs->call_ms > 0)
    verdict_.timing.call_speedup = theirs->call_ms / own->call_ms;
}

}  // namespace kw::verify
