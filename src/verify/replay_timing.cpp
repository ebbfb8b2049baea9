// Times from replays: reference and candidate by the same instrument, interleaved, on inputs that neither has
// seen.
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "verify/attempt.h"
#include "verify/blame.h"
#include "verify/gpu_clocks.h"
#include "verify/limits.h"
#include "verify/protocol.h"
#include "verify/roofline.h"
#include "verify/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr double batch_ms = 20.0;
constexpr std::uint32_t most_repeats = 256;
constexpr double longest_in_batch_ms = 500.0;
constexpr double preparation_ms = 100.0;  // at most, before a replay: poison, state, the cache
constexpr double clocks_agree = 1.25;     // an outside clock's time of a batch over the device's own

}  // namespace

void Attempt::forget_times(const char* why) {
  verdict_.speedup.reset();
  verdict_.reference_time_ms.reset();
  verdict_.kernel_time_ms.reset();
  verdict_.timing.why_null = why;
}

Step Attempt::broken_while_timed(const Trouble& trouble) {
  Step step = replay_trouble(trouble);
  if (step == Step::ended) return step;
  forget_times("a replay broke while it was timed");
  blame_infrastructure(
      verdict_, Stage::time,
      Error{"a replay that was right before broke while it was timed: " + why_not_replayed_, ""});
  return Step::ended;
}

// The reference's replayer is ours to lose: the oracle times it instead.
Step Attempt::lost_reference(const Trouble& trouble) {
  Step step = replay_trouble(trouble);
  reference_why_not_ = std::exchange(why_not_replayed_, {});
  reference_.reset();
  oracle_->kept.reset();
  verdict_.timing.reference_samples_ms.clear();
  return step;
}

async::Task<Step> Attempt::time_reference_by_events() {
  wire::TimeReferenceT request;
  request.seed = context_.seeds.next();
  request.warmup = settings_.timing_warmup;
  request.calls = settings_.timing_trials;
  request.budget_ms = 5'000;
  request.flush_l2 = true;
  auto timed = co_await oracle_->time_reference(request, oracle_deadline(60s));
  if (!timed) co_return refused_by_oracle(timed.error(), Stage::time);
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
  if (step == Step::go_on) step = co_await compare_clocks();
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
  const std::string key = task_key(job_.task, settings_, halvings_) + "+compile";
  const ReferenceTapes::Entry* known = context_.tapes.find(key);
  ReferenceTapes::Entry entry = known != nullptr ? *known : co_await record_reference(true);
  std::string why_not = entry.why_not;
  if (entry.tape) {
    auto player = co_await player_of(entry.tape, nullptr);
    if (player)
      why_not = co_await sample_compiled(**player);
    else
      why_not = player.error();
  }
  if (stop_.requested()) co_return Step::go_on;
  context_.tapes.put(key, std::move(entry));
  if (!why_not.empty())
    verdict_.comparison->findings.push_back("torch.compile of the reference was not timed: " + why_not);
  co_return Step::go_on;
}

async::Task<std::string> Attempt::sample_compiled(Player& player) {
  std::vector<double> samples_ms;
  std::string why_not;
  while (samples_ms.size() < 5 * least_samples && !is_settled(samples_ms, least_samples)) {
    wire::ReplayT how;
    how.timed = true;
    how.flush_l2 = true;
    auto played = co_await player.play(std::move(how));
    if (!played) {
      why_not = "its replay broke while it was timed";
      break;
    }
    samples_ms.push_back(sample_ms(played->facts));
  }
  co_await player.end();
  if (why_not.empty()) verdict_.timing.compile_time_ms = midmean(samples_ms);
  co_return why_not;
}

// A batch by the device's events against the supervisor's clock, the time of one replay with all its
// preparation subtracted: code on the device can write where events are kept, but not what our clock reads.
async::Task<Step> Attempt::compare_clocks() {
  Timing& timing = verdict_.timing;
  if (timing.kernel_samples_ms.empty()) co_return Step::go_on;
  double single_ms = std::max(median(timing.kernel_samples_ms), 1e-3);
  auto repeats = static_cast<std::uint32_t>(std::clamp(batch_ms / single_ms, 2.0, double{most_repeats}));
  // Of a call that takes long one replay alone shows whether the clocks agree, and a batch would take
  // minutes.
  wire::ReplayT one;
  one.timed = true;
  auto alone = co_await player_->play(std::move(one));
  if (!alone) co_return broken_while_timed(alone.error());
  if (single_ms > longest_in_batch_ms) {
    note_disagreement(1, alone->facts.device_ms, alone->wall_ms - preparation_ms);
    co_return Step::go_on;
  }
  wire::ReplayT many;
  many.timed = true;
  many.repeats = repeats;
  auto batch = co_await player_->play(std::move(many));
  if (!batch) co_return broken_while_timed(batch.error());
  double outside_ms = (batch->wall_ms - alone->wall_ms) / (repeats - 1);
  note_disagreement(repeats, std::max(batch->facts.device_ms / repeats, single_ms), outside_ms);
  co_return Step::go_on;
}

void Attempt::note_disagreement(std::uint32_t calls, double device_ms, double outside_ms) {
  double tolerated_ms = clocks_agree * device_ms + 2.0 / calls + 0.02;
  if (outside_ms <= tolerated_ms) return;
  verdict_.comparison->findings.push_back(fmt::format(
      "clocks disagree: {} calls in a row take {:.4f} ms each by the device's events and {:.4f} ms by the "
      "supervisor's clock",
      calls, device_ms, outside_ms));
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
  auto least_ms =
      least_traffic_ms(context_.environment.gpu.value_or(""), spec_.input_bytes + spec_.output_bytes);
  if (!least_ms) return;
  timing.roofline_share = *least_ms / *verdict_.kernel_time_ms;
  if (*timing.roofline_share > 1)
    verdict_.comparison->findings.push_back(
        "the time is below minimal traffic over peak bandwidth: work was skipped, or inputs lay in the "
        "cache");
}

}  // namespace kw::verify
