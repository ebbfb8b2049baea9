// A candidate's calls, recorded in its own process and judged by their replays in another.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <cctype>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "recording/limits.h"
#include "verify/attempt.h"
#include "verify/blame.h"
#include "verify/limits.h"
#include "verify/provenance.h"
#include "verify/slots.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t recordings = 2;
constexpr std::size_t most_kept_bytes = std::size_t{1} << 30;

bool is_unsupported(const engine::Refusal& refusal) {
  return refusal.failed && refusal.failed->error_class == to_string(ErrorClass::unsupported_candidate);
}

}  // namespace

// Live calls, some of them recorded. Which ones come before and after is drawn, so that a candidate cannot
// count its calls and know. A step that says "ended" is a verdict; what merely cannot be replayed is
// why_not_replayed_.
async::Task<Step> Attempt::live_and_recorded() {
  std::uint32_t live = 0;
  if (co_await first_calls() == Step::ended) co_return Step::ended;
  live = 2;
  for (std::uint32_t each = 0; each < recordings && why_not_replayed_.empty(); ++each)
    if (co_await record_call(live++) == Step::ended) co_return Step::ended;
  for (auto late = 1 + context_.seeds.next() % 2; late > 0; --late)
    if (co_await trial(live++, settings_.timeout) == Step::ended) co_return Step::ended;
  live_calls_ = live;
  co_return Step::go_on;
}

async::Task<Step> Attempt::record_call(std::uint32_t trial) {
  if (co_await draw(trial) == Step::ended) co_return Step::ended;
  Fd arena = std::exchange(drawn_.arena, {});
  auto began = async::SteadyClock::now();
  wire::RecordT request;
  request.trial = trial;
  request.seed = drawn_.seed;
  request.budget_ms = static_cast<double>(settings_.timeout.count());
  request.input_address = recording::arena_address;
  auto recorded =
      co_await candidate_.record(std::move(request), arena.get(), own_deadline(settings_.timeout));
  verdict_.stages_ms[Stage::record] += async::ms_since(began);
  if (!recorded && is_unsupported(recorded.error())) {
    why_not_replayed_ = replay_words(recorded.error());
    co_return Step::go_on;
  }
  if (!recorded) co_return end(candidate_.blame(std::move(recorded.error()), Stage::record));
  returned_ = *recorded->facts.returned;
  launches_seen_ += returned_.launch_count;
  native_code_ = native_code_ || returned_.native_code;
  if (co_await judge(trial) == Step::ended) co_return Step::ended;
  keep_recording(*recorded, tapes_.size());
  wire::ValueT outputs = *recorded->facts.outputs;
  auto places = place_outputs(std::move(outputs), oracle_.spec());
  if (!places)
    why_not_replayed_ = places.error().what;
  else
    tapes_.push_back(std::make_shared<const Tape>(Tape{std::move(*recorded), std::move(*places)}));
  co_return Step::go_on;
}

// For whoever wants to look into it; that it cannot be kept is worth a finding and no more.
void Attempt::keep_recording(const engine::Recorded& recorded, std::size_t number) {
  if (settings_.recordings.empty()) return;
  std::string name = job_.id;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '~' && c != '#') c = '_';
  constexpr std::size_t longest_name = 150;
  auto file = std::filesystem::path(settings_.recordings) /
              fmt::format("{}.{}.kwr", name.substr(0, longest_name), number);
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  auto bytes = read_memory_file(recorded.recording, most_kept_bytes);
  auto written = bytes ? write_file(file, *bytes) : Result<>(std::unexpected(bytes.error()));
  if (!written)
    verdict_.comparison->findings.push_back("the recording was not kept: " + written.error().what);
}

// What stopped us, where it was the oracle or Ctrl-C; else it is one more reason why this cannot be replayed.
Step Attempt::replay_trouble(const Trouble& trouble) {
  if (was_stopped(trouble.refusal)) {
    stopped_ = true;
    return Step::ended;
  }
  if (trouble.of == Trouble::Of::oracle) return end(OracleRefusal{Stage::replay, trouble.refusal});
  why_not_replayed_ = replay_words(trouble.refusal);
  return Step::go_on;
}

async::Task<Step> Attempt::load_tapes(Queues queues) {
  player_ = std::make_shared<Player>(context_, oracle_.process(), oracle_.spec(), candidate_slot, stop_);
  if (auto started = co_await player_->start(queues); !started) {
    stopped_ = stop_.requested();
    blame_infrastructure(verdict_, Stage::replay, started.error());
    co_return Step::ended;
  }
  for (const auto& tape : tapes_)
    if (auto added = co_await player_->add(tape); !added) co_return replay_trouble(added.error());
  if (!player_->lacks_queues()) co_return Step::go_on;
  co_await end_player();
  co_return co_await load_tapes(Queues::many);
}

// Recordings are loaded while the candidate's process ends, unless that takes memory which is needed for
// them.
async::Task<Step> Attempt::end_runner_and_load() {
  using namespace boost::asio::experimental::awaitable_operators;
  if (oracle_.is_retired()) {
    co_await end_runner();
    co_return co_await load_tapes();
  }
  Step step = co_await (end_runner() && load_tapes());
  if (step == Step::ended || why_not_replayed_.empty()) co_return step;
  co_await end_player();
  why_not_replayed_.clear();
  co_return co_await load_tapes();
}

// K replays on K input sets, of each recording one at least, in the orders that they leave open.
async::Task<Step> Attempt::replay_trials() {
  const auto trials = std::max(settings_.correctness_trials, static_cast<std::uint32_t>(tapes_.size()));
  Step step = Step::go_on;
  for (std::uint32_t k = 0; step == Step::go_on && k < trials; ++k) {
    if (!why_not_replayed_.empty()) break;
    step = co_await replay_trial(k);
  }
  co_return step;
}

async::Task<Step> Attempt::replay_trial(std::uint32_t k) {
  wire::ReplayT how;
  how.slot = k % static_cast<std::uint32_t>(tapes_.size());
  const wire::ReplayableT& facts = player_->facts(how.slot);
  bool otherwise = facts.orders > 1 && k >= tapes_.size();
  how.order = otherwise ? wire::Order::reversed : wire::Order::recorded;
  how.guard = true;
  auto played = co_await player_->play(std::move(how));
  if (!played) co_return replay_trouble(played.error());
  if (!played->facts.downloads_equal) {
    why_not_replayed_ = "what its host does depends on what it reads back from the device";
    co_return Step::go_on;
  }
  if (!played->facts.overrun.empty()) {
    verdict_.status = Status::failed;
    verdict_.stage = Stage::replay;
    verdict_.fault = Fault::kernel;
    verdict_.error_class = ErrorClass::out_of_bounds;
    verdict_.error = "a kernel wrote behind the end of " + to_plain_text(played->facts.overrun);
    co_return Step::ended;
  }
  auto judged = co_await player_->judge(*played);
  if (!judged) co_return replay_trouble(judged.error());
  if (judged->right) {
    take_judgement(verdict_, *judged);
    verdict_.comparison->trials = std::max<std::size_t>(verdict_.comparison->trials, live_calls_ + k + 1);
    co_return Step::go_on;
  }
  if (facts.unjoined > 0 && otherwise) {
    take_judgement(verdict_, *judged);
    verdict_.stage = Stage::replay;
    verdict_.error_class = ErrorClass::live_replay_mismatch;
    verdict_.error = fmt::format(
        "{} operations run on a stream that the caller's stream never waits for, and the result needs them: "
        "whoever reads it may come too early ({})",
        facts.unjoined, to_plain_text(judged->error));
    co_return Step::ended;
  }
  why_not_replayed_ =
      fmt::format("its replay gives other values than its calls: {}", to_plain_text(judged->error));
  co_return Step::go_on;
}

// Everything that needs the candidate's own process, and then its replays. On "go on" with a reason in
// why_not_replayed_ nothing was proved by replays.
async::Task<Step> Attempt::try_recorded(wire::Weights weights) {
  why_not_replayed_.clear();
  tapes_.clear();
  deadline_ = async::Deadline::in(settings_.timeout);
  if (co_await start_gpu_runner() == Step::ended) co_return Step::ended;
  if (co_await load(wire::Mode::cuda, weights, "nan") == Step::ended) co_return Step::ended;
  if (co_await live_and_recorded() == Step::ended) co_return Step::ended;
  if (!why_not_replayed_.empty()) {
    co_await end_runner();
    co_return Step::go_on;
  }
  auto began = async::SteadyClock::now();
  // Nothing is replayed, judged or timed before the candidate's process is dead.
  Step step = co_await end_runner_and_load();
  if (step == Step::go_on && why_not_replayed_.empty()) {
    attesting_ = start_attesting(context_, tapes_.front(), player_->facts(0).compute_capability);
    step = co_await replay_trials();
  }
  verdict_.stages_ms[Stage::replay] += async::ms_since(began);
  if (step == Step::ended || !why_not_replayed_.empty()) co_await end_player();
  co_return step;
}

async::Task<> Attempt::end_player() {
  for (const auto& each : std::exchange(beside_, {})) co_await each->end();
  if (player_) co_await player_->end();
  player_.reset();
}

// What holds without the recorder in the process: a share of candidates is looked at again.
async::Task<Step> Attempt::audit(wire::Weights weights) {
  if (!is_audited()) co_return Step::go_on;
  if (take_worker(co_await context_.plain_runners.take(async::Deadline::in(spawn_limit)),
                  context_.servers.cuda) == Step::ended)
    co_return Step::ended;
  Verdict before = verdict_;
  deadline_ = async::Deadline::in(settings_.timeout);
  Step step = co_await load(wire::Mode::cuda, weights, "nan");
  std::uint32_t calls = 2 + static_cast<std::uint32_t>(context_.seeds.next() % 2);
  for (std::uint32_t k = 0; step == Step::go_on && k < calls; ++k)
    step = co_await trial(live_calls_ + settings_.correctness_trials + k, settings_.timeout);
  if (step == Step::go_on) {
    co_await time_whole_calls();
    double call_speedup = verdict_.timing.call_speedup.value_or(0);
    auto trials = verdict_.comparison->trials;
    verdict_ = std::move(before);
    verdict_.comparison->trials = trials;
    if (call_speedup > 0) verdict_.timing.call_speedup = call_speedup;
  } else if (!stopped_ && verdict_.error) {
    verdict_.error = "without the recorder in its process: " + *verdict_.error;
    forget_times("the candidate is not right where it is not recorded");
  }
  co_await end_runner();
  co_return step;
}

bool Attempt::is_audited() const {
  constexpr std::uint64_t parts = 1'000'000;
  return static_cast<double>(context_.seeds.next() % parts) < settings_.audit * static_cast<double>(parts);
}

}  // namespace kw::verify
