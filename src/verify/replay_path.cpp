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
  keep_recording(*recorded, replays_.tapes().size());
  wire::ValueT outputs = *recorded->facts.outputs;
  auto places = place_outputs(std::move(outputs), oracle_.spec());
  if (!places)
    why_not_replayed_ = places.error().what;
  else
    replays_.add(std::make_shared<const Tape>(Tape{std::move(*recorded), std::move(*places)}));
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

// Recordings are loaded while the candidate's process ends, unless that takes memory which is needed for
// them.
async::Task<Outcome<std::string>> Attempt::end_runner_and_load() {
  using namespace boost::asio::experimental::awaitable_operators;
  if (oracle_.is_retired()) {
    co_await end_runner();
    co_return co_await replays_.load();
  }
  auto why_not = co_await (end_runner() && replays_.load());
  if (!why_not || why_not->empty()) co_return why_not;
  co_await replays_.end();
  co_return co_await replays_.load();
}

async::Task<Step> Attempt::replay_trials() {
  ReplayJudgements said = co_await replays_.judge(settings_.correctness_trials);
  std::size_t trials = live_calls_;
  for (const wire::JudgedT& judged : said.right) {
    take_judgement(verdict_, judged);
    verdict_.comparison->trials = std::max(verdict_.comparison->trials, ++trials);
  }
  why_not_replayed_ = std::move(said.why_not);
  co_return said.ended ? end(*said.ended) : Step::go_on;
}

// Everything that needs the candidate's own process, and then its replays. On "go on" with a reason in
// why_not_replayed_ nothing was proved by replays.
async::Task<Step> Attempt::try_recorded(wire::Weights weights) {
  why_not_replayed_.clear();
  replays_.forget();
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
  auto loaded = co_await end_runner_and_load();
  Step step = loaded ? Step::go_on : end(loaded.error());
  why_not_replayed_ = loaded.value_or("");
  if (step == Step::go_on && why_not_replayed_.empty()) {
    attesting_ =
        start_attesting(context_, replays_.tapes().front(), replays_.player().facts(0).compute_capability);
    step = co_await replay_trials();
  }
  verdict_.stages_ms[Stage::replay] += async::ms_since(began);
  if (step == Step::ended || !why_not_replayed_.empty()) co_await replays_.end();
  co_return step;
}

// What holds without the recorder in the process: a share of candidates is looked at again.
async::Task<Step> Attempt::audit(wire::Weights weights) {
  if (!is_audited()) co_return Step::go_on;
  // The one that forks it: another may stand there after the wait.
  std::shared_ptr<engine::ForkServer> server = context_.servers.cuda;
  if (take_worker(co_await context_.plain_runners.take(async::Deadline::in(spawn_limit)),
                  std::move(server)) == Step::ended)
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
