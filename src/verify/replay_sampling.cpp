// Samples of a replayed call and of its reference, taken in turns until they agree or there are enough.
#include <algorithm>

#include "verify/attempt.h"
#include "verify/blame.h"
#include "verify/clock_floor.h"
#include "verify/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr auto timing_limit = 20s;
constexpr std::size_t patience = 40;  // samples with neighbours before less agreement is enough
// Times the precision that was asked for, as a share of a time or as milliseconds (30, 100 and 300 ns at the
// usual 1%), whichever is more. Beside neighbours less is enough, and less still after some patience. Only
// where all samples that were asked for are far from agreement is the device drained, which stops all
// neighbours for seconds.
constexpr Precision beside_others{.share = 2, .ms = 3e-3};
constexpr Precision at_last{.share = 2.5, .ms = 1e-2};
constexpr Precision wild{.share = 5, .ms = 3e-2};
constexpr double usual_precision = 0.01;
constexpr std::size_t precise_processes = 4;  // where more than that is asked for
constexpr double short_call_ms = 0.05;        // such a call's time depends on the process
constexpr double long_call_ms = 1.0;          // such a call is timed alone on the device

}  // namespace

// One sample of each side. The candidate's outputs are judged every time, the reference's are known to be
// right.
async::Task<Step> Attempt::time_round() {
  Timing& timing = verdict_.timing;
  std::optional<wire::ReplayedT> reference;
  if (reference_) {
    wire::ReplayT how;
    how.timed = true;
    how.flush_l2 = true;
    auto theirs = co_await reference_->play(std::move(how));
    if (!theirs) co_return lost_reference(theirs.error());
    reference = std::move(theirs->facts);
  }
  // Of processes and recordings in turns: where its memory lies has a part in a kernel's time.
  const std::size_t turn = timing.kernel_samples_ms.size();
  const std::size_t processes = 1 + beside_.size();
  Player& player = turn % processes == 0 ? *player_ : *beside_[turn % processes - 1];
  wire::ReplayT how;
  how.slot = static_cast<std::uint32_t>(turn / processes % player_->tapes());
  how.timed = true;
  how.flush_l2 = true;
  auto own = co_await played_right(player, std::move(how));
  if (!own) co_return Step::ended;
  if (!timing.floor_ms) {
    context_.clock_floor.add(own->floor_ms);
    timing.floor_ms = context_.clock_floor.ms();
  }
  if (reference) timing.reference_samples_ms.push_back(sample_ms(*reference));
  timing.kernel_samples_ms.push_back(sample_ms(*own));
  co_return Step::go_on;
}

// What a replay took by the floor of all processes on the device instead of its own.
double Attempt::sample_ms(const wire::ReplayedT& facts) const {
  return std::max(0.0, facts.device_ms + facts.floor_ms - verdict_.timing.floor_ms.value_or(facts.floor_ms));
}

// A kernel of some microseconds takes a few percent more in one process than in another, for as long as these
// live. Whoever asks for more than the usual precision gets a mean over several.
async::Task<Step> Attempt::start_beside() {
  while (beside_.size() + 1 < precise_processes) {
    auto player = std::make_shared<Player>(context_, *oracle_, spec_, candidate_slot, stop_);
    beside_.push_back(player);
    if (auto started = co_await player->start(player_->queues()); !started) {
      blame_infrastructure(verdict_, Stage::time, started.error());
      co_return Step::ended;
    }
    for (const auto& tape : tapes_)
      if (auto added = co_await player->add(tape); !added) co_return broken_while_timed(added.error());
    // Not timed: the first replay of a process sets things up.
    for (std::uint32_t slot = 0; slot < player->tapes(); ++slot) {
      wire::ReplayT how;
      how.slot = slot;
      if (!co_await played_right(*player, std::move(how))) co_return Step::ended;
    }
  }
  co_return Step::go_on;
}

// One replay and its judgement; nothing where the verdict stands then.
async::Task<std::optional<wire::ReplayedT>> Attempt::played_right(Player& player, wire::ReplayT how) {
  auto played = co_await player.play(std::move(how));
  if (!played) {
    broken_while_timed(played.error());
    co_return std::nullopt;
  }
  auto judged = co_await player.judge(*played);
  if (!judged) {
    broken_while_timed(judged.error());
    co_return std::nullopt;
  }
  take_judgement(verdict_, *judged);
  if (!judged->right) co_return std::nullopt;
  co_return std::move(played->facts);
}

bool Attempt::both_settled(std::size_t least, Precision wanted) const {
  const Timing& timing = verdict_.timing;
  return is_settled(timing.kernel_samples_ms, least, wanted) &&
         (!reference_ || is_settled(timing.reference_samples_ms, least, wanted));
}

bool Attempt::is_enough(bool beside_neighbours) const {
  const std::size_t least = least_samples * (1 + beside_.size());
  if (!beside_neighbours) return both_settled(least, {.share = settings_.timing_precision});
  return both_settled(least, tolerated(beside_others)) || both_settled(patience, tolerated(at_last));
}

Precision Attempt::tolerated(Precision times) const {
  return {.share = times.share * settings_.timing_precision, .ms = times.ms * settings_.timing_precision};
}

// Whoever asks for more than the usual gets it where nobody else has to wait for that.
bool Attempt::makes_do_with_less() const {
  return !alone_ && (settings_.timing_precision >= usual_precision || context_.desk.has_others());
}

// So far from agreement that neighbours must be it.
bool Attempt::is_wild() const {
  return verdict_.timing.kernel_samples_ms.size() >= patience && !both_settled(patience, tolerated(wild));
}

// Few verdicts sample at a time. Each sample goes five times between processes, and many that do so at once
// would wait for each other's contexts at every step.
async::Task<Step> Attempt::sample_replays() {
  Timing& timing = verdict_.timing;
  engine::Lease turn;
  if (!alone_) turn = co_await context_.timing_turns.share();
  auto limit = async::Deadline::in(timing_limit);
  const auto& own = timing.kernel_samples_ms;
  const auto& theirs = timing.reference_samples_ms;
  for (std::uint32_t round = 0; own.empty() || !limit.passed(); ++round) {
    if (co_await time_round() == Step::ended) co_return Step::ended;
    bool long_call = median(own) > long_call_ms || (!theirs.empty() && median(theirs) > long_call_ms);
    if (round == 0 && !long_call) {  // the first finds nothing warm
      bool precise = settings_.timing_precision < usual_precision && median(own) < short_call_ms;
      timing.kernel_samples_ms.clear();
      timing.reference_samples_ms.clear();
      if (precise && co_await start_beside() == Step::ended) co_return Step::ended;
      continue;
    }
    if (is_enough(makes_do_with_less() && !long_call)) break;
    bool all = own.size() >= settings_.timing_trials;
    if (all && (alone_ || !(long_call || is_wild()))) break;
    if (!alone_ && (long_call || all)) {
      turn.give_back();  // who waits for it holds a share of the device
      co_await drain_device();
      limit = async::Deadline::in(timing_limit);  // the wait for the device is not the kernel's
      timing.kernel_samples_ms.clear();
      timing.reference_samples_ms.clear();
    }
  }
  co_return Step::go_on;
}

}  // namespace kw::verify
