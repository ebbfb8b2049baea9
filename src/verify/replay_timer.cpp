#include "verify/replay_timer.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/blame.h"
#include "verify/clock_floor.h"

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

constexpr double batch_ms = 20.0;
constexpr std::uint32_t most_repeats = 256;
constexpr double longest_in_batch_ms = 500.0;
constexpr double preparation_ms = 100.0;  // at most, before a replay: poison, state, the cache
constexpr double clocks_agree = 1.25;     // an outside clock's time of a batch over the device's own

wire::ReplayT timed_replay() {
  wire::ReplayT how;
  how.timed = true;
  how.flush_l2 = true;
  return how;
}

std::string disagreement(std::uint32_t calls, double device_ms, double outside_ms) {
  double tolerated_ms = clocks_agree * device_ms + 2.0 / calls + 0.02;
  if (outside_ms <= tolerated_ms) return {};
  return fmt::format(
      "clocks disagree: {} calls in a row take {:.4f} ms each by the device's events and {:.4f} ms by the "
      "supervisor's clock",
      calls, device_ms, outside_ms);
}

}  // namespace

double sample_ms(const wire::ReplayedT& facts, std::optional<double> floor_ms) {
  return std::max(0.0, facts.device_ms + facts.floor_ms - floor_ms.value_or(facts.floor_ms));
}

async::Task<ReplaySamples> ReplayTimer::sample() {
  co_await sample_all();
  co_return std::move(samples_);
}

async::Task<bool> ReplayTimer::sample_all() {
  engine::Lease turn;
  if (!device_.is_alone()) turn = co_await context_.timing_turns.share();
  auto limit = async::Deadline::in(timing_limit);
  const auto& own = samples_.kernel_ms;
  const auto& theirs = samples_.reference_ms;
  for (std::uint32_t round = 0; own.empty() || !limit.passed(); ++round) {
    if (!co_await sample_once()) co_return false;
    bool long_call = median(own) > long_call_ms || (!theirs.empty() && median(theirs) > long_call_ms);
    if (round == 0 && !long_call) {  // the first finds nothing warm
      bool precise = settings_.timing_precision < usual_precision && median(own) < short_call_ms;
      forget_samples();
      if (precise && !co_await start_beside()) co_return false;
      continue;
    }
    if (is_enough(makes_do_with_less() && !long_call)) break;
    bool all = own.size() >= settings_.timing_trials;
    if (all && (device_.is_alone() || !(long_call || is_wild()))) break;
    if (!device_.is_alone() && (long_call || all)) {
      turn.give_back();  // who waits for it holds a share of the device
      co_await device_.drain();
      limit = async::Deadline::in(timing_limit);  // the wait for the device is not the kernel's
      forget_samples();
    }
  }
  co_return true;
}

// One sample of each side. The candidate's outputs are judged every time, the reference's are known to be
// right.
async::Task<bool> ReplayTimer::sample_once() {
  std::optional<wire::ReplayedT> reference;
  if (sides_.reference) {
    auto theirs = co_await sides_.reference->play(timed_replay());
    if (!theirs) co_return lose_reference(theirs.error());
    reference = std::move(theirs->facts);
  }
  // Of processes and recordings in turns: where its memory lies has a part in a kernel's time.
  const std::size_t turn = samples_.kernel_ms.size();
  const std::size_t processes = 1 + samples_.beside.size();
  Player& player = turn % processes == 0 ? *sides_.own : *samples_.beside[turn % processes - 1];
  wire::ReplayT how = timed_replay();
  how.slot = static_cast<std::uint32_t>(turn / processes % sides_.own->tapes());
  auto own = co_await played_right(player, std::move(how));
  if (!own) co_return false;
  if (!samples_.floor_ms) {
    context_.clock_floor.add(own->floor_ms);
    samples_.floor_ms = context_.clock_floor.ms();
  }
  if (reference) samples_.reference_ms.push_back(sample_ms(*reference, samples_.floor_ms));
  samples_.kernel_ms.push_back(sample_ms(*own, samples_.floor_ms));
  co_return true;
}

// The reference's replayer is ours to lose: the oracle times it instead.
bool ReplayTimer::lose_reference(const Trouble& trouble) {
  sides_.reference.reset();
  samples_.reference_ms.clear();
  samples_.lost_reference.emplace();
  if (was_stopped(trouble.refusal)) return end(Stopped{});
  if (trouble.of == Trouble::Of::oracle) return end(OracleRefusal{Stage::replay, trouble.refusal});
  samples_.lost_reference = replay_words(trouble.refusal);
  return true;
}

// A kernel of some microseconds takes a few percent more in one process than in another, for as long as these
// live. Whoever asks for more than the usual precision gets a mean over several.
async::Task<bool> ReplayTimer::start_beside() {
  while (samples_.beside.size() + 1 < precise_processes) {
    auto player = sides_.another();
    samples_.beside.push_back(player);
    if (auto started = co_await player->start(sides_.own->queues()); !started)
      co_return end(OurFault{Stage::time, started.error()});
    for (const auto& tape : sides_.tapes)
      if (auto added = co_await player->add(tape); !added) co_return end(broken_while_timed(added.error()));
    // Not timed: the first replay of a process sets things up.
    for (std::uint32_t slot = 0; slot < player->tapes(); ++slot) {
      wire::ReplayT how;
      how.slot = slot;
      if (!co_await played_right(*player, std::move(how))) co_return false;
    }
  }
  co_return true;
}

// One replay and its judgement; nothing where the verdict stands then.
async::Task<std::optional<wire::ReplayedT>> ReplayTimer::played_right(Player& player, wire::ReplayT how) {
  auto played = co_await player.play(std::move(how));
  if (!played) {
    end(broken_while_timed(played.error()));
    co_return std::nullopt;
  }
  auto judged = co_await player.judge(*played);
  if (!judged) {
    end(broken_while_timed(judged.error()));
    co_return std::nullopt;
  }
  const bool right = judged->right;
  samples_.judgements.push_back(std::move(*judged));
  if (right) co_return std::move(played->facts);
  end(WrongResult{});
  co_return std::nullopt;
}

bool ReplayTimer::both_settled(std::size_t least, Precision wanted) const {
  return is_settled(samples_.kernel_ms, least, wanted) &&
         (!sides_.reference || is_settled(samples_.reference_ms, least, wanted));
}

bool ReplayTimer::is_enough(bool beside_neighbours) const {
  const std::size_t least = least_samples * (1 + samples_.beside.size());
  if (!beside_neighbours) return both_settled(least, {.share = settings_.timing_precision});
  return both_settled(least, tolerated(beside_others)) || both_settled(patience, tolerated(at_last));
}

Precision ReplayTimer::tolerated(Precision times) const {
  return {.share = times.share * settings_.timing_precision, .ms = times.ms * settings_.timing_precision};
}

// Whoever asks for more than the usual gets it where nobody else has to wait for that.
bool ReplayTimer::makes_do_with_less() const {
  return !device_.is_alone() && (settings_.timing_precision >= usual_precision || device_.has_others());
}

// So far from agreement that neighbours must be it.
bool ReplayTimer::is_wild() const {
  return samples_.kernel_ms.size() >= patience && !both_settled(patience, tolerated(wild));
}

void ReplayTimer::forget_samples() {
  samples_.kernel_ms.clear();
  samples_.reference_ms.clear();
}

bool ReplayTimer::end(Ended ended) {
  samples_.ended = std::move(ended);
  return false;
}

async::Task<CompiledTime> sample_compiled(Player& player, std::optional<double> floor_ms) {
  std::vector<double> samples_ms;
  CompiledTime time;
  while (samples_ms.size() < 5 * least_samples && !is_settled(samples_ms, least_samples)) {
    auto played = co_await player.play(timed_replay());
    if (!played) {
      time.why_not = "its replay broke while it was timed";
      break;
    }
    samples_ms.push_back(sample_ms(played->facts, floor_ms));
  }
  co_await player.end();
  time.ms = midmean(samples_ms);
  co_return time;
}

async::Task<std::expected<std::string, Trouble>> compare_clocks(Player& player, double single_ms) {
  auto repeats = static_cast<std::uint32_t>(std::clamp(batch_ms / single_ms, 2.0, double{most_repeats}));
  // Of a call that takes long one replay alone shows whether the clocks agree, and a batch would take
  // minutes.
  wire::ReplayT one;
  one.timed = true;
  auto alone = co_await player.play(std::move(one));
  if (!alone) co_return std::unexpected(std::move(alone.error()));
  if (single_ms > longest_in_batch_ms)
    co_return disagreement(1, alone->facts.device_ms, alone->wall_ms - preparation_ms);
  wire::ReplayT many;
  many.timed = true;
  many.repeats = repeats;
  auto batch = co_await player.play(std::move(many));
  if (!batch) co_return std::unexpected(std::move(batch.error()));
  double outside_ms = (batch->wall_ms - alone->wall_ms) / (repeats - 1);
  co_return disagreement(repeats, std::max(batch->facts.device_ms / repeats, single_ms), outside_ms);
}

}  // namespace kw::verify
