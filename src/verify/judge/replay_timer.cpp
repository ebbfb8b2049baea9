#include "verify/judge/replay_timer.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/judge/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr auto replay_timing_limit = 20s;
constexpr std::size_t patience = 40;  // samples beside other processes before less agreement is enough
// Multiples of the requested precision, as a share of a time or in milliseconds (30, 100 and 300 ns at the
// usual 1%); the greater one counts. Beside other processes less precision is enough, and even less after
// `patience` samples. The device is drained, which stops all other processes for seconds, only if all
// requested samples are far from agreement or the host's clock contradicts every one of them.
constexpr Precision beside_others{.share = 2, .ms = 3e-3};
constexpr Precision at_last{.share = 2.5, .ms = 1e-2};
constexpr Precision wild{.share = 5, .ms = 3e-2};
constexpr double usual_precision = 0.01;
constexpr std::size_t precise_processes = 4;  // if more than the usual precision is requested
constexpr double short_call_ms = 0.05;        // such a call's time depends on the process
constexpr double long_call_ms = 1.0;          // such a call is timed alone on the device

}  // namespace

wire::ReplayT timed_replay() {
  wire::ReplayT how;
  how.timed = true;
  how.flush_l2 = true;
  return how;
}

double sample_ms(const wire::ReplayedT& facts, std::optional<double> floor_ms) {
  return std::max(0.0, facts.device_ms + facts.floor_ms - floor_ms.value_or(facts.floor_ms));
}

async::Task<Times> ReplayTimer::sample() {
  if (auto done = co_await sample_all(); !done) times_.seen.ended = std::move(done.error());
  times_.kernel_ms = take_believed(Side::kernel, kernel_);
  times_.reference_ms = take_believed(Side::reference, theirs_);
  co_return std::move(times_);
}

std::vector<double> ReplayTimer::take_believed(Side side, const SampleClocks& clocks) {
  Believed believed = believe(clocks, side);
  if (side == Side::kernel && !believed.samples_ms.empty()) times_.replay_clocks = believed.clocks;
  if (!believed.finding.empty()) times_.findings.push_back(std::move(believed.finding));
  return std::move(believed.samples_ms);
}

async::Task<Outcome<>> ReplayTimer::sample_all() {
  engine::Lease turn;
  if (!device_.is_alone()) {
    const Timeline::Span span(case_.row, "wait for a turn to time");
    const DeviceShare::Yielding yielding(device_);
    turn = co_await case_.context.timing_turns.share();
    // Not with a turn: one who waits for it could not step aside.
    while (device_.is_called_aside() && !case_.stop.requested()) {
      turn.give_back();
      co_await device_.step_aside();
      turn = co_await case_.context.timing_turns.share();
    }
  }
  auto limit = async::Deadline::in(replay_timing_limit);
  const auto& own = kernel_.device_ms;
  const auto& theirs = theirs_.device_ms;
  bool compares = false;
  for (std::uint32_t round = 0; own.empty() || !limit.passed(); ++round) {
    if (auto done = co_await sample_once(); !done) co_return done;
    bool long_call = median(own) > long_call_ms || (!theirs.empty() && median(theirs) > long_call_ms);
    if (round == 0 && !long_call) {  // the first round only warms up
      bool precise = case_.settings.timing_precision < usual_precision && median(own) < short_call_ms;
      forget_samples();
      if (!precise) continue;
      if (auto started = co_await start_beside(); !started) co_return started;
      continue;
    }
    const bool all = own.size() >= case_.settings.timing_trials;
    const bool ends = is_enough(makes_do_with_less() && !long_call) ||
                      (all && (device_.is_alone() || !(long_call || is_wild())));
    const bool disagree = ends && clocks_disagree();
    // A few samples cannot show that clocks disagree, and further ones may not end at the first agreement.
    compares |= disagree && own.size() < least_samples;
    const bool few = compares && own.size() < least_samples;
    if (ends && !few && (device_.is_alone() || !disagree)) break;
    // Clocks that disagree early are mostly delays by neighbours, which further samples outlive.
    if (!device_.is_alone() && (long_call || all)) {
      turn.give_back();  // a waiting attempt holds a share of the device
      co_await device_.drain();
      limit = async::Deadline::in(replay_timing_limit);  // the wait for the device does not count
      forget_samples();
    }
  }
  co_return Outcome<>{};
}

// Takes one sample of each side. The candidate's outputs are judged every time; the reference's need not be.
async::Task<Outcome<>> ReplayTimer::sample_once() {
  std::optional<wire::ReplayedT> reference;
  if (reference_.player) {
    auto theirs = co_await reference_.player->play(timed_replay());
    if (!theirs) co_return lose_reference(theirs.error());
    reference = std::move(theirs->facts);
  }
  // Alternates processes and recordings, since the addresses of its memory affect a kernel's time.
  const std::size_t turn = kernel_.device_ms.size();
  wire::ReplayT how = timed_replay();
  how.slot = static_cast<std::uint32_t>(turn / own_.processes() % own_.tapes().size());
  auto own = co_await played_right(own_.player(turn % own_.processes()), std::move(how), times_.seen);
  if (!own) co_return std::unexpected(own.error());
  if (!times_.floor_ms) {
    case_.context.clock_floor.add(own->floor_ms);
    times_.floor_ms = case_.context.clock_floor.ms();
  }
  if (kernel_.device_ms.empty()) learn_floors(reference, *own);
  if (reference) {
    const double wait_ms = reference->host_ms + reference->host_floor_ms;
    add(theirs_, *reference, wait_ms - wait_floor_ms_);
    theirs_.wait_ms.push_back(wait_ms);
  }
  add(kernel_, *own, own->host_ms);
  co_return Outcome<>{};
}

// Other processes delay the reading of some floors, which would make a reference faster than it is.
void ReplayTimer::learn_floors(const std::optional<wire::ReplayedT>& reference, const wire::ReplayedT& own) {
  ClockFloor& waits = case_.context.wait_floor;
  ClockFloor& marks = case_.context.marks_floor;
  for (const wire::ReplayedT* facts : {reference ? &*reference : nullptr, &own}) {
    if (facts == nullptr) continue;
    waits.add(facts->host_floor_ms);
    if (facts->marked_floor_ms >= 0) marks.add(facts->marked_floor_ms);
  }
  wait_floor_ms_ = waits.least_ms().value_or(0);
  marks_floor_ms_ = marks.least_ms();
}

void ReplayTimer::add(SampleClocks& clocks, const wire::ReplayedT& facts, double host_ms) {
  clocks.device_ms.push_back(sample_ms(facts, times_.floor_ms));
  clocks.host_ms.push_back(std::max(0.0, host_ms));
  clocks.alone = device_.is_alone();
  if (marks_floor_ms_ && facts.marked_ms >= 0)
    clocks.marked_ms.push_back(std::max(0.0, facts.marked_ms - *marks_floor_ms_));
}

// If the reference's replayer is lost, the oracle times the reference instead.
Outcome<> ReplayTimer::lose_reference(const ReplayFailure& trouble) {
  theirs_ = {};
  auto words = words_of(trouble);
  reference_ = {.why_not = words.value_or("")};
  if (!words) return std::unexpected(words.error());
  return {};
}

// The time of a kernel of some microseconds differs by a few percent between processes, and stays so in each.
// A job that requests more than the default precision gets a mean over several processes.
async::Task<Outcome<>> ReplayTimer::start_beside() {
  while (own_.processes() < precise_processes) {
    Player& player = own_.add_process();
    if (auto started = co_await player.start(own_.player().queues()); !started)
      co_return std::unexpected<Ended>(blame_infrastructure(Stage::time, started.error()));
    for (const auto& tape : own_.tapes())
      if (auto added = co_await player.add(tape); !added)
        co_return std::unexpected(co_await player.broken_while_timed(added.error()));
    // Not timed, since the first replay of a process includes its set-up.
    for (std::uint32_t slot = 0; slot < player.tapes(); ++slot) {
      wire::ReplayT how;
      how.slot = slot;
      if (auto right = co_await played_right(player, std::move(how), times_.seen); !right)
        co_return std::unexpected(right.error());
    }
  }
  co_return Outcome<>{};
}

async::Task<Outcome<wire::ReplayedT>> played_right(Player& player, wire::ReplayT how, Evidence& seen) {
  const std::size_t recording = how.slot;
  auto played = co_await player.play(std::move(how));
  if (!played) co_return std::unexpected(co_await player.broken_while_timed(played.error()));
  auto judged = co_await player.judge(*played);
  if (!judged) co_return std::unexpected(co_await player.broken_while_timed(judged.error()));
  seen.judgements.push_back(
      {.judged = std::move(*judged), .purpose = TrialPurpose::timing, .recording = recording});
  const wire::JudgedT& last = seen.judgements.back().judged;
  if (!last.right) co_return std::unexpected<Ended>(blame_result(last));
  co_return std::move(played->facts);
}

bool ReplayTimer::both_settled(std::size_t least, Precision wanted) const {
  return is_settled(kernel_.device_ms, least, wanted) &&
         (!reference_.player || is_settled(theirs_.device_ms, least, wanted));
}

bool ReplayTimer::is_enough(bool beside_neighbours) const {
  const std::size_t least = least_samples * own_.processes();
  if (!beside_neighbours) return both_settled(least, {.share = case_.settings.timing_precision});
  return both_settled(least, tolerated(beside_others)) || both_settled(patience, tolerated(at_last));
}

Precision ReplayTimer::tolerated(Precision times) const {
  return {.share = times.share * case_.settings.timing_precision,
          .ms = times.ms * case_.settings.timing_precision};
}

// More than the default precision is sought only while no other attempt waits.
bool ReplayTimer::makes_do_with_less() const {
  return !device_.is_alone() && (case_.settings.timing_precision >= usual_precision || device_.has_others());
}

// The samples disagree so far that neighbours on the device must be the cause.
bool ReplayTimer::is_wild() const {
  return kernel_.device_ms.size() >= patience && !both_settled(patience, tolerated(wild));
}

// Neighbours on the device can be the cause.
bool ReplayTimer::clocks_disagree() const {
  return !believe(kernel_, Side::kernel).finding.empty() ||
         !believe(theirs_, Side::reference).finding.empty();
}

void ReplayTimer::forget_samples() {
  kernel_ = {};
  theirs_ = {};
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

}  // namespace kw::verify
