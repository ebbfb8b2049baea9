// Times from replays: reference and candidate by the same instrument, interleaved, on inputs that neither has
// seen.
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "verify/attempt.h"
#include "verify/blame.h"
#include "verify/gpu_clocks.h"
#include "verify/limits.h"
#include "verify/reference_replays.h"
#include "verify/replay_timer.h"
#include "verify/roofline.h"
#include "verify/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

void Attempt::forget_times(const char* why) {
  verdict_.speedup.reset();
  verdict_.reference_time_ms.reset();
  verdict_.kernel_time_ms.reset();
  verdict_.timing.why_null = why;
}

async::Task<Step> Attempt::sample_replays() {
  ReplaySamples samples = co_await replays_.sample(settings_, device_, reference_);
  for (const wire::JudgedT& judged : samples.judgements) take_judgement(verdict_, judged);
  verdict_.timing.reference_samples_ms = std::move(samples.reference_ms);
  verdict_.timing.kernel_samples_ms = std::move(samples.kernel_ms);
  verdict_.timing.floor_ms = samples.floor_ms;
  if (samples.lost_reference) {
    reference_why_not_ = *samples.lost_reference;
    reference_.reset();
    oracle_.process().kept.reset();
  }
  co_return samples.ended ? end(*samples.ended) : Step::go_on;
}

async::Task<Step> Attempt::time_reference_by_events() {
  wire::TimeReferenceT request;
  request.seed = context_.seeds.next();
  request.warmup = settings_.timing_warmup;
  request.calls = settings_.timing_trials;
  request.budget_ms = 5'000;
  request.flush_l2 = true;
  auto timed = co_await oracle_.time_reference(request, 60s);
  if (!timed) co_return end(timed.error());
  verdict_.timing.reference_samples_ms = timed->samples_ms;
  verdict_.comparison->findings.push_back(
      "the reference is timed by events in the oracle, since it cannot be replayed: " + reference_why_not_);
  co_return Step::go_on;
}

async::Task<Step> Attempt::time_replays() {
  if (settings_.timing_trials == 0) co_return Step::go_on;
  auto start = async::SteadyClock::now();
  Step step = co_await sample_replays();
  verdict_.timing.clocks = gpu_clocks(context_.device);
  if (step == Step::go_on && !reference_) step = co_await time_reference_by_events();
  if (step == Step::go_on) step = co_await compare_with_outside_clock();
  if (step == Step::go_on) step = co_await time_compiled_reference();
  verdict_.stages_ms[Stage::time] += async::ms_since(start);
  if (step == Step::ended) co_return step;
  Timing& timing = verdict_.timing;
  timing.instrument = reference_ ? "replay" : "replay, reference by cuda-events";
  if (timing.kernel_samples_ms.empty() || timing.reference_samples_ms.empty()) {
    timing.why_null = "no replay ended within the time for timing";
    co_return Step::go_on;
  }
  take_times();
  co_return Step::go_on;
}

// The reference under torch.compile, by the same instrument; where that cannot be, a finding says why.
async::Task<Step> Attempt::time_compiled_reference() {
  if (!settings_.compile_baseline || !reference_) co_return Step::go_on;
  auto compiled = co_await reference_replays().compiled();
  if (compiled.player) {
    CompiledTime time = co_await sample_compiled(*compiled.player, verdict_.timing.floor_ms);
    compiled.why_not = time.why_not;
    if (time.why_not.empty()) verdict_.timing.compile_time_ms = time.ms;
  }
  if (!stop_.requested() && !compiled.why_not.empty())
    verdict_.comparison->findings.push_back("torch.compile of the reference was not timed: " +
                                            compiled.why_not);
  co_return Step::go_on;
}

async::Task<Step> Attempt::compare_with_outside_clock() {
  const auto& samples_ms = verdict_.timing.kernel_samples_ms;
  if (samples_ms.empty()) co_return Step::go_on;
  auto finding = co_await compare_clocks(replays_.player(), std::max(median(samples_ms), 1e-3));
  if (!finding) co_return end(broken_while_timed(finding.error()));
  if (!finding->empty()) verdict_.comparison->findings.push_back(std::move(*finding));
  co_return Step::go_on;
}

// From samples to the verdict's own numbers.
void Attempt::take_times() {
  Timing& timing = verdict_.timing;
  verdict_.reference_time_ms = midmean(timing.reference_samples_ms);
  verdict_.kernel_time_ms = midmean(timing.kernel_samples_ms);
  timing.reference_interval_ms = midmean_interval(timing.reference_samples_ms);
  timing.kernel_interval_ms = midmean_interval(timing.kernel_samples_ms);
  if (*verdict_.kernel_time_ms <= 0) {
    timing.why_null = "the kernel's time read zero or less";
    return;
  }
  verdict_.speedup = *verdict_.reference_time_ms / *verdict_.kernel_time_ms;
  timing.why_null.reset();
  auto least_ms = least_traffic_ms(context_.environment.gpu.value_or(""),
                                   oracle_.spec().input_bytes + oracle_.spec().output_bytes);
  if (!least_ms) return;
  timing.roofline_share = *least_ms / *verdict_.kernel_time_ms;
  if (*timing.roofline_share > 1)
    verdict_.comparison->findings.push_back(
        "the time is below minimal traffic over peak bandwidth: work was skipped, or inputs lay in the "
        "cache");
}

}  // namespace kw::verify
