// On a GPU: recorded in the candidate's own process, replayed, judged and timed in others. What cannot be replayed
// is judged and timed in-process, and says so.
#include <fmt/format.h>

#include "verify/attempt.h"
#include "verify/blame.h"
#include "verify/limits.h"

namespace kw::verify {

namespace {

constexpr std::uint64_t heavy_bytes = std::uint64_t{1} << 30;

}  // namespace

async::Task<Step> Attempt::on_cuda() {
  verdict_.trust = Trust::in_process;
  if (co_await prepare(0, 0) == Step::ended) co_return Step::ended;
  if (spec_.input_bytes + spec_.output_bytes > heavy_bytes) {
    // About ten buffers of such a size fill a GPU: it runs alone, and its oracle does not outlive it.
    retire_oracle_ = true;
    co_await drain_device();
  }
  if (context_.settings.replay)
    co_await start_reference();
  else
    why_not_replayed_ = context_.why_no_replay;
  deadline_ = async::Deadline::in(context_.settings.timeout);
  wire::Weights weights = wire::Weights::automatic;
  Step step = co_await try_weights(weights);
  if (step == Step::ended && verdict_.status == Status::incorrect && loaded_.weights_differ) {
    Verdict as_loaded = verdict_;
    co_await end_runner();
    weights = wire::Weights::constructed;
    step = co_await try_weights(weights);
    if (step == Step::ended && !stopped_) verdict_ = std::move(as_loaded);
  }
  if (step == Step::go_on) step = player_ ? co_await finish_replayed(weights) : co_await time_in_process();
  co_await end_player();
  co_return step;
}

// Judged with these weights, by replays where that can be.
async::Task<Step> Attempt::try_weights(wire::Weights weights) {
  if (!context_.settings.replay) co_return co_await try_in_process(weights);
  Step step = co_await try_recorded(weights);
  if (step == Step::ended || why_not_replayed_.empty()) co_return step;
  verdict_.replay.emplace();
  verdict_.replay->why_not = why_not_replayed_;
  co_return co_await try_in_process(weights);
}

async::Task<Step> Attempt::finish_replayed(wire::Weights weights) {
  verdict_.trust = Trust::replay;
  verdict_.replay.emplace();
  const wire::ReplayableT& facts = player_->facts(0);
  verdict_.replay->recordings = player_->tapes();
  verdict_.replay->operations = facts.operations;
  verdict_.replay->streams = facts.streams;
  verdict_.replay->downloads = facts.downloads;
  verdict_.replay->unjoined = facts.unjoined;
  verdict_.replay->orders = facts.orders;
  if (co_await time_replays() == Step::ended) co_return Step::ended;
  if (co_await find_provenance() == Step::ended) co_return Step::ended;
  co_await end_player();
  co_return co_await audit(weights);
}

async::Task<> Attempt::drain_device() {
  if (alone_) co_return;
  lease_ = co_await context_.desk.all_instead_of(std::move(lease_));
  alone_ = true;
}

}  // namespace kw::verify
