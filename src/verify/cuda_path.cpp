// On a GPU: recorded in the candidate's own process, replayed, judged and timed in others. What cannot be
// replayed is judged and timed in-process, and says so.
#include <fmt/format.h>

#include "syntax/static_findings.h"
#include "verify/attempt.h"
#include "verify/blame.h"
#include "verify/limits.h"
#include "verify/provenance.h"
#include "verify/reference_replays.h"

namespace kw::verify {

namespace {

constexpr std::uint64_t heavy_bytes = std::uint64_t{1} << 30;

}  // namespace

async::Task<Step> Attempt::on_cuda() {
  verdict_.trust = Trust::in_process;
  Step prepared = co_await prepare(0, 0);
  bool full = prepared == Step::ended && verdict_.fault == Fault::infrastructure && !stopped_ &&
              verdict_.error && verdict_.error->find("out of memory") != std::string::npos;
  if (prepared == Step::ended && !full) co_return Step::ended;
  const auto& spec = oracle_.spec();
  if (full || spec.input_bytes + spec.output_bytes > heavy_bytes)
    if (co_await prepare_alone() == Step::ended) co_return Step::ended;
  if (settings_.replay) co_await start_reference();
  deadline_ = async::Deadline::in(settings_.timeout);
  wire::Weights weights = wire::Weights::automatic;
  Step step = co_await try_weights(weights);
  if (step == Step::ended && verdict_.status == Status::incorrect && loaded_.weights_differ) {
    Verdict as_loaded = verdict_;
    co_await end_runner();
    weights = wire::Weights::constructed;
    step = co_await try_weights(weights);
    if (step == Step::ended && !stopped_) verdict_ = std::move(as_loaded);
  }
  if (step == Step::go_on)
    step = replays_.are_loaded() ? co_await finish_replayed(weights) : co_await time_in_process();
  co_await replays_.end();
  co_return step;
}

// About ten buffers of such a size fill a GPU: it runs alone, and its oracle does not outlive it. While it
// waits for its turn it holds nothing, or several that wait would fill the device.
async::Task<Step> Attempt::prepare_alone() {
  co_await oracle_.end_process();
  co_await device_.drain();
  co_await context_.oracles.end_idle();
  verdict_.fault.reset();
  verdict_.error.reset();
  verdict_.error_class.reset();
  verdict_.error_detail.reset();
  if (auto renewed = co_await oracle_.renew(); !renewed) co_return end(renewed.error());
  co_return co_await prepare(0, 0);
}

ReferenceReplays Attempt::reference_replays() {
  PreparedReference reference{.task = job_.task,
                              .key = oracle_.key(),
                              .spec = oracle_.spec(),
                              .call_spec = oracle_.call_spec(),
                              .tf32 = settings_.tf32,
                              .draw_limit = oracle_.limit(prepare_limit)};
  return {context_, oracle_.process(), std::move(reference), stop_};
}

async::Task<> Attempt::start_reference() {
  if (oracle_.facts().reference_random) {
    reference_why_not_ = "it draws random numbers";
    co_return;
  }
  auto found = co_await reference_replays().eager();
  reference_ = std::move(found.player);
  reference_why_not_ = std::move(found.why_not);
}

// Whose the launches are, and whether the result needs them.
async::Task<Step> Attempt::find_launches() {
  auto began = async::SteadyClock::now();
  co_await attesting_->done.wait();
  StaticReport report = examine(job_.candidate.code);
  Origins origins;
  origins.attested = attesting_->sha256;
  origins.jitted.insert(report.jitted.begin(), report.jitted.end());
  origins.library = context_.tapes.library_cubins();
  origins.native_code = native_code_ || report.native_code;
  Provenance found = co_await find_provenance(replays_.player(), origins, settings_.timing_trials > 0);
  verdict_.stages_ms[Stage::replay] += async::ms_since(began);
  verdict_.launches = std::move(found.launches);
  verdict_.triton_share = found.triton_share;
  own_launches_ = found.own_launches;
  if (found.own_launches > 0) decoy_ = found.decoy;
  co_return found.ended ? end(*found.ended) : Step::go_on;
}

// Judged with these weights, by replays where that can be.
async::Task<Step> Attempt::try_weights(wire::Weights weights) {
  if (settings_.replay) {
    Step step = co_await try_recorded(weights);
    if (step == Step::ended || why_not_replayed_.empty()) co_return step;
  } else {
    why_not_replayed_ = context_.why_no_replay.empty() ? "the replayer was lost" : context_.why_no_replay;
  }
  verdict_.replay.emplace();
  verdict_.replay->why_not = why_not_replayed_;
  co_return co_await try_in_process(weights);
}

// The very first call must be right, and its result must still be when the second has been made.
async::Task<Step> Attempt::first_calls() {
  if (co_await trial(0, settings_.timeout) == Step::ended) co_return Step::ended;
  std::uint64_t first_seed = drawn_.seed;
  if (co_await trial(1, settings_.timeout) == Step::ended) co_return Step::ended;
  wire::CallT request;
  request.previous = true;
  auto returned = co_await candidate_.call(std::move(request), -1, own_deadline(settings_.timeout));
  if (!returned) co_return end(returned.error());
  if (!returned->outputs) co_return Step::go_on;  // it handed an input back, whose memory is drawn anew
  auto judged = co_await oracle_.judge_outputs(first_seed, std::move(returned->outputs));
  if (!judged) co_return end(judged.error());
  if (judged->right) co_return Step::go_on;
  take_judgement(verdict_, *judged);
  verdict_.error = "the result of a call changed when a later call was made: " + *verdict_.error;
  co_return Step::ended;
}

async::Task<Step> Attempt::finish_replayed(wire::Weights weights) {
  verdict_.trust = Trust::replay;
  verdict_.replay.emplace();
  const wire::ReplayableT& facts = replays_.player().facts(0);
  verdict_.replay->recordings = replays_.player().tapes();
  verdict_.replay->operations = facts.operations;
  verdict_.replay->streams = facts.streams;
  verdict_.replay->downloads = facts.downloads;
  verdict_.replay->unjoined = facts.unjoined;
  verdict_.replay->orders = facts.orders;
  if (co_await time_replays() == Step::ended) co_return Step::ended;
  if (co_await find_launches() == Step::ended) co_return Step::ended;
  co_await replays_.end();
  co_return co_await audit(weights);
}

}  // namespace kw::verify
