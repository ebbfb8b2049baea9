#include "verify/judge/in_process_path.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/judge/reference_clock.h"
#include "verify/judge/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t calls_a_round = 10;
constexpr std::size_t least_events = 40;
constexpr double round_budget_ms = 2'000;
constexpr auto event_timing_limit = 20s;
constexpr double slack_ms =
    5.0;  // of the supervisor's clock: messages, mapping the inputs, the host's part of a call
constexpr std::uint32_t clocked_calls = 3;
constexpr double believable_share = 0.5;

// A call that took this long by the supervisor's clock took most of it on the device, unless its host code is
// slow. The clock cannot tell the two apart, so only a large difference counts.
void bound_by_outside_clock(Times& times, double least_wall_ms) {
  const double outside_ms = believable_share * (least_wall_ms - slack_ms);
  if (midmean(times.kernel_ms) >= outside_ms) return;
  times.findings.push_back(fmt::format(
      "its process claims {:.3f} ms a call where a clock outside saw {:.3f} ms: the claim is raised to "
      "half of that",
      midmean(times.kernel_ms), least_wall_ms));
  for (double& sample : times.kernel_ms) sample = std::max(sample, outside_ms);
}

}  // namespace

async::Task<Evidence> InProcess::judge(Evidence seen) {
  calls_.restart_clock();
  if (auto done = co_await judge_calls(seen); !done) seen.ended = std::move(done.error());
  co_return seen;
}

async::Task<Outcome<>> InProcess::start(Evidence& seen) {
  if (auto started = co_await calls_.start(case_.context.runners); !started) co_return started;
  co_return co_await calls_.load(wire::Mode::cuda, "nan", seen);
}

async::Task<Outcome<>> InProcess::judge_calls(Evidence& seen) {
  if (auto started = co_await start(seen); !started) co_return started;
  if (auto right = co_await calls_.first_calls(seen); !right) co_return right;
  for (std::uint32_t k = 2; k < calls_.trials(); ++k)
    if (auto right = co_await calls_.trial(k, {}, case_.settings.timeout, seen); !right) co_return right;
  next_call_ = calls_.trials() + case_.settings.audit_calls;
  if (auto right = co_await calls_.further_calls(
          {.first = calls_.trials(), .count = case_.settings.audit_calls, .budget = case_.settings.timeout},
          seen);
      !right)
    co_return right;
  if (calls_.launches() == 0) co_return Outcome<>{};
  if (auto varied = co_await vary_inputs(seen); !varied) co_return varied;
  // Without its launches an honest candidate may fail, so a failure here is not the candidate's fault.
  const StageTimes times = case_.times;
  for (int draw = 0; draw < most_decoy_draws; ++draw) {
    auto returned = co_await calls_.call(next_call_++, {.effect = wire::Effect::skipped}, 20s);
    case_.times = times;
    if (case_.stop.requested()) co_return std::unexpected<Ended>(Stopped{});
    if (!returned) break;
    if (co_await calls_.check_decoy("without_launches", std::move(returned->outputs), seen) ||
        draw + 1 == most_decoy_draws)
      co_return Outcome<>{};
  }
  seen.decoys.push_back({.name = "without_launches", .outcome = CheckOutcome::failed});
  co_await calls_.end();
  co_return co_await start(seen);
}

async::Task<Outcome<>> InProcess::vary_inputs(Evidence& seen) {
  if (!oracle_.varies_inputs()) co_return Outcome<>{};
  const std::uint64_t moved_bytes = oracle_.moved_bytes();
  auto found =
      co_await try_families({oracle_.facts().families, most_families_on_device(moved_bytes), case_.is_alone,
                             case_.context.seeds.next()},
                            [&](FamilyQuestion asked) { return ask_family(std::move(asked.family), seen); });
  if (!found) co_return std::unexpected(found.error());
  seen.generality = std::move(*found);
  calls_.restart_clock();
  co_return Outcome<>{};
}

async::Task<Outcome<Generality>> InProcess::call_on_families(std::vector<std::string> families,
                                                             wire::Weights weights) {
  Evidence unused{.weights = weights};
  calls_.restart_clock();
  if (auto started = co_await start(unused); !started) co_return std::unexpected(started.error());
  const std::size_t most = families.size();
  auto found = co_await try_families({std::move(families), most, case_.is_alone}, [&](FamilyQuestion asked) {
    return ask_family(std::move(asked.family), unused);
  });
  co_await calls_.end();
  co_return found;
}

async::Task<Outcome<FamilyAnswer>> InProcess::ask_family(std::string family, Evidence& seen) {
  auto answer = co_await calls_.family(
      next_call_++, std::move(family),
      longest_wait({calls_.shortest_ms(), least_call_patience, case_.settings.timeout}));
  if (answer) answer->was_patient = true;
  if (!answer || !answer->failure) co_return answer;
  // A fault on the device ends the context of its process.
  co_await calls_.end();
  calls_.restart_clock();
  if (auto started = co_await start(seen); !started) co_return std::unexpected(started.error());
  co_return answer;
}

async::Task<Times> InProcess::time(DeviceShare& device) {
  Times times{.instrument = "cuda-events", .why_none = "no call ended within the time for timing"};
  co_await device.drain();
  auto began = async::SteadyClock::now();
  calls_.restart_clock();
  if (auto done = co_await sample(times); !done)
    times.seen.ended = std::move(done.error());
  else
    case_.times[Stage::time] += async::ms_since(began);
  co_return times;
}

async::Task<Outcome<>> InProcess::sample(Times& times) {
  auto limit = async::Deadline::in(event_timing_limit);
  const Precision wanted{.share = case_.settings.timing_precision};
  double least_wall_ms = 1e300;
  ReferenceClock clock(case_, oracle_);
  for (std::uint32_t each = 0; each < clocked_calls; ++each) {
    auto call = co_await clocked_call({}, times.seen);
    if (!call) co_return std::unexpected(call.error());
    least_wall_ms = std::min(least_wall_ms, call->wall_ms);
  }
  if (auto done = co_await timed_calls(1, times); !done) co_return done;
  times.kernel_ms.clear();
  while (times.kernel_ms.size() < case_.settings.timing_trials && !limit.passed()) {
    wire::TimeReferenceT reference;
    reference.seed = calls_.seed();
    reference.warmup = times.reference_ms.empty() ? case_.settings.timing_warmup : 1;
    reference.calls = calls_a_round;
    reference.budget_ms = round_budget_ms;
    reference.flush_l2 = true;
    if (auto done = co_await clock.sample(reference, event_timing_limit + 40s); !done) co_return done;
    times.reference_ms = clock.samples_ms();
    if (auto done = co_await timed_calls(calls_a_round, times); !done) co_return done;
    if (times.kernel_ms.empty()) break;
    if (is_settled(times.kernel_ms, least_events, wanted) &&
        is_settled(times.reference_ms, least_events, wanted))
      break;
  }
  if (auto done = co_await clock.check(); !done) co_return done;
  clock.give(times);
  if (!times.kernel_ms.empty())
    times.clock_check = ClockCheck{.calls = clocked_calls,
                                   .device_ms = midmean(times.kernel_ms),
                                   .device_source = FactSource::claim,
                                   .supervisor_ms = least_wall_ms,
                                   .tolerated_ms = slack_ms + midmean(times.kernel_ms) / believable_share};
  if (!times.kernel_ms.empty() && !times.reference_ms.empty()) bound_by_outside_clock(times, least_wall_ms);
  co_return Outcome<>{};
}

// Each call has new inputs and is judged, so a candidate gains nothing from results that it kept.
async::Task<Outcome<InProcess::Clocked>> InProcess::clocked_call(LiveCalls::How how, Evidence& seen) {
  const std::uint32_t number = next_call_++;
  if (auto drawn = co_await calls_.draw(number); !drawn) co_return std::unexpected(drawn.error());
  auto began = async::SteadyClock::now();
  auto returned = co_await calls_.call(number, how, case_.settings.timeout);
  if (!returned) co_return std::unexpected(returned.error());
  const Clocked clocked{async::ms_since(began), returned->device_ms};
  const std::size_t before = seen.judgements.size();
  auto right = co_await calls_.judge(std::move(returned->outputs), seen);
  if (seen.judgements.size() > before) seen.judgements.back().purpose = TrialPurpose::timing;
  if (!right) co_return std::unexpected(right.error());
  co_return clocked;
}

async::Task<Outcome<>> InProcess::timed_calls(std::uint32_t count, Times& times) {
  for (std::uint32_t each = 0; each < count; ++each) {
    auto call = co_await clocked_call({.timed = true}, times.seen);
    if (!call) co_return std::unexpected(call.error());
    if (call->claimed_ms >= 0) times.kernel_ms.push_back(call->claimed_ms);
  }
  co_return Outcome<>{};
}

}  // namespace kw::verify
