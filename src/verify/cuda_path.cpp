// On a GPU, until record and replay: judged and timed in the runner, which is why `trust` says in-process.
// What a recording will replace is try_weights' judging and time_both's clock.
#include <algorithm>

#include "base/text.h"
#include "verify/attempt.h"
#include "verify/blame.h"
#include "verify/roofline.h"
#include "verify/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t heavy_bytes = std::uint64_t{1} << 30;
constexpr std::uint32_t calls_a_round = 20;
constexpr double round_budget_ms = 2'000;
constexpr auto timing_limit = 20s;

}  // namespace

async::Task<Step> Attempt::on_cuda() {
  verdict_.trust = Trust::in_process;
  if (co_await prepare(0, 0) == Step::ended) co_return Step::ended;
  if (spec_.input_bytes + spec_.output_bytes > heavy_bytes) {
    // About ten buffers of such a size fill a GPU: it runs alone, and its oracle does not outlive it.
    retire_oracle_ = true;
    lease_ = co_await context_.desk.all_instead_of(std::move(lease_));
  }
  deadline_ = async::Deadline::in(context_.settings.timeout);
  Step step = co_await try_weights(wire::Weights::automatic);
  if (step == Step::ended && verdict_.status == Status::incorrect && loaded_.weights_differ) {
    Verdict as_loaded = verdict_;
    co_await end_runner();
    step = co_await try_weights(wire::Weights::constructed);
    if (step == Step::ended && !stopped_) verdict_ = std::move(as_loaded);
  }
  if (step == Step::ended) co_return step;
  co_return co_await time_both();
}

async::Task<Step> Attempt::try_weights(wire::Weights weights) {
  if (co_await start_gpu_runner() == Step::ended) co_return Step::ended;
  if (co_await load(wire::Mode::cuda, weights, "nan") == Step::ended) co_return Step::ended;
  for (std::uint32_t k = 0; k < context_.settings.correctness_trials; ++k)
    if (co_await trial(k, context_.settings.timeout) == Step::ended) co_return Step::ended;
  if (launches_seen_ == 0) co_return Step::go_on;
  // Without its launches an honest candidate may well fail, so what goes wrong here is no fault of its own.
  Verdict before = verdict_;
  bool returned = co_await call(context_.settings.correctness_trials, true, 20s) == Step::go_on;
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

async::Task<Step> Attempt::time_both() {
  const Settings& settings = context_.settings;
  if (settings.timing_trials == 0) co_return Step::go_on;
  // A late call on fresh inputs: judged like the others, and what it was given is what is timed.
  if (co_await trial(settings.correctness_trials, settings.timeout) == Step::ended) co_return Step::ended;
  if (spec_.input_bytes + spec_.output_bytes <= heavy_bytes)
    lease_ = co_await context_.desk.all_instead_of(std::move(lease_));
  auto start = async::SteadyClock::now();
  deadline_ = async::Deadline::in(settings.timeout);
  Timing& timing = verdict_.timing;
  auto limit = async::Deadline::in(timing_limit);
  bool first = true;
  std::vector<double> their_calls_ms;
  std::vector<double> own_calls_ms;
  while (timing.kernel_samples_ms.size() < settings.timing_trials && !limit.passed()) {
    auto calls = static_cast<std::uint32_t>(
        std::min<std::size_t>(calls_a_round, settings.timing_trials - timing.kernel_samples_ms.size()));
    wire::TimeReferenceT reference;
    reference.seed = trial_seed_;
    reference.warmup = first ? settings.timing_warmup : 1;
    reference.calls = calls;
    reference.budget_ms = round_budget_ms;
    reference.flush_l2 = true;
    auto theirs = co_await oracle_->time_reference(reference, oracle_deadline(timing_limit + 40s));
    if (!theirs) co_return refused_by_oracle(theirs.error(), Stage::time);
    wire::TimeCandidateT candidate;
    candidate.warmup = first ? settings.timing_warmup : 1;
    candidate.calls = calls;
    candidate.budget_ms = round_budget_ms;
    candidate.flush_l2 = true;
    auto own = co_await runner_->time(candidate, own_deadline(timing_limit + 40s));
    if (!own) co_return refused_by_candidate(own.error(), Stage::time);
    if (own->samples_ms.empty() || theirs->samples_ms.empty()) break;
    std::ranges::copy(theirs->samples_ms, std::back_inserter(timing.reference_samples_ms));
    std::ranges::copy(own->samples_ms, std::back_inserter(timing.kernel_samples_ms));
    timing.instrument = to_plain_text(own->instrument);
    if (theirs->call_ms > 0) their_calls_ms.push_back(theirs->call_ms);
    if (own->call_ms > 0) own_calls_ms.push_back(own->call_ms);
    first = false;
    if (is_settled(timing.kernel_samples_ms) && is_settled(timing.reference_samples_ms)) break;
  }
  verdict_.stages_ms[Stage::time] += async::ms_since(start);
  if (timing.kernel_samples_ms.empty()) {
    timing.why_null = "no call ended within the time for timing";
    co_return Step::go_on;
  }
  verdict_.reference_time_ms = median(timing.reference_samples_ms);
  verdict_.kernel_time_ms = median(timing.kernel_samples_ms);
  timing.reference_interval_ms = median_interval(timing.reference_samples_ms);
  timing.kernel_interval_ms = median_interval(timing.kernel_samples_ms);
  if (!their_calls_ms.empty() && !own_calls_ms.empty())
    timing.call_speedup = median(their_calls_ms) / median(own_calls_ms);
  if (*verdict_.kernel_time_ms <= 0) {
    timing.why_null = "the kernel's time read zero or less";
    co_return Step::go_on;
  }
  verdict_.speedup = *verdict_.reference_time_ms / *verdict_.kernel_time_ms;
  timing.why_null.reset();
  if (auto least =
          least_traffic_ms(context_.environment.gpu.value_or(""), spec_.input_bytes + spec_.output_bytes)) {
    timing.roofline_share = *least / *verdict_.kernel_time_ms;
    if (*timing.roofline_share > 1)
      verdict_.comparison->findings.push_back(
          "the time is below minimal traffic over peak bandwidth: work was skipped, or inputs lay in the "
          "cache");
  }
  co_return Step::go_on;
}

}  // namespace kw::verify
