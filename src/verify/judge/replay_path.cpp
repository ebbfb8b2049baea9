#include "verify/judge/replay_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <cctype>
#include <filesystem>

#include "base/core/files.h"
#include "code/syntax/static_findings.h"
#include "verify/judge/censuses.h"
#include "verify/judge/devices.h"
#include "verify/judge/native_builds.h"
#include "verify/judge/outside_clock.h"
#include "verify/judge/replay_timer.h"
#include "verify/judge/segment_timer.h"
#include "verify/judge/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t recordings = 2;
constexpr std::uint32_t most_early_calls = 3;  // between the first two calls and the recorded ones
constexpr std::size_t most_kept_bytes = std::size_t{1} << 30;
constexpr double whole_calls_budget_ms = 500;
constexpr auto whole_calls_limit = 20s;

}  // namespace

async::Task<Evidence> ReplayPath::judge(wire::Weights weights) {
  Evidence seen{.weights = weights};
  replays_.forget();
  calls_.restart_clock();
  auto why_not = co_await call_and_record(seen);
  if (why_not && why_not->empty())
    why_not = co_await load_and_judge(seen);
  else if (why_not)
    co_await calls_.end();
  if (why_not)
    seen.why_not_replayed = std::move(*why_not);
  else
    seen.ended = std::move(why_not.error());
  co_return seen;
}

// Makes live calls and records two of them. The numbers of calls before and after these are drawn at random,
// so that a candidate cannot tell the recorded calls, nor the last one, by counting.
async::Task<Outcome<std::string>> ReplayPath::call_and_record(Evidence& seen) {
  if (auto started = co_await calls_.start(case_.context.runners); !started)
    co_return std::unexpected(started.error());
  if (auto loaded = co_await calls_.load(wire::Mode::cuda, "nan", seen); !loaded)
    co_return std::unexpected(loaded.error());
  if (auto right = co_await calls_.first_calls(seen); !right) co_return std::unexpected(right.error());
  std::uint32_t live = 2;
  for (auto early = case_.context.seeds.next() % (most_early_calls + 1); early > 0; --early)
    if (auto right = co_await calls_.trial(live++, {}, case_.settings.timeout, seen); !right)
      co_return std::unexpected(right.error());
  // A recorded call has an ordinary backward pass, so that what is timed is one.
  while (case_.settings.backward && live < backward_ways)
    if (auto right = co_await calls_.trial(live++, {}, case_.settings.timeout, seen); !right)
      co_return std::unexpected(right.error());
  Outcome<std::string> why_not;
  for (std::uint32_t each = 0; each < recordings && why_not && why_not->empty(); ++each)
    why_not = co_await record_call(live++, seen);
  if (!why_not) co_return why_not;
  for (auto late = 1 + case_.context.seeds.next() % 2; late > 0; --late)
    if (auto right = co_await calls_.trial(live++, {}, case_.settings.timeout, seen); !right)
      co_return std::unexpected(right.error());
  call_count_ = live;
  co_return why_not;
}

async::Task<Outcome<std::string>> ReplayPath::record_call(std::uint32_t trial, Evidence& seen) {
  auto done = co_await calls_.record(trial, seen);
  if (!done) co_return std::unexpected(done.error());
  LiveCalls::Recorded& recorded = *done;
  if (!recorded) co_return recorded.error();
  seen.judgements.back().finding = keep_recording(*recorded, replays_.tapes().size());
  wire::ValueT outputs = *recorded->facts.outputs;
  auto places = place_outputs(std::move(outputs), oracle_.spec());
  if (!places) co_return places.error().what;
  replays_.add(std::make_shared<const Tape>(Tape{std::move(*recorded), std::move(*places)}));
  co_return std::string{};
}

// Nothing is replayed, judged or timed before the candidate's process is dead.
async::Task<Outcome<std::string>> ReplayPath::load_and_judge(Evidence& seen) {
  auto began = async::SteadyClock::now();
  auto why_not = co_await end_calls_and_load();
  if (why_not && why_not->empty()) {
    seen.launch_list = recorded_launches(replays_.player());
    attesting_ = start_attesting(case_.context, replays_.tapes().back(), replays_.player());
    why_not = co_await replays_.judge(case_.settings.correctness_trials, call_count_, seen);
  }
  case_.times[Stage::replay] += async::ms_since(began);
  if (!why_not || !why_not->empty()) co_await replays_.end();
  co_return why_not;
}

// Keeps the recording for the user. Returns a finding if this fails.
std::string ReplayPath::keep_recording(const engine::Recorded& recorded, std::size_t number) const {
  if (case_.settings.recordings.empty()) return {};
  std::string name = case_.job.id;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '~' && c != '#') c = '_';
  constexpr std::size_t longest_name = 150;
  auto file = std::filesystem::path(case_.settings.recordings) /
              fmt::format("{}.{}.kwr", name.substr(0, longest_name), number);
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  auto bytes = read_memory_file(recorded.recording, most_kept_bytes);
  auto written = bytes ? write_file(file, *bytes) : Result<>(std::unexpected(bytes.error()));
  return written ? "" : "the recording was not kept: " + written.error().what;
}

// Loads the recordings while the candidate's process ends. A large task, or a failed load, needs that
// process's memory and loads after its end.
async::Task<Outcome<std::string>> ReplayPath::end_calls_and_load() {
  using namespace boost::asio::experimental::awaitable_operators;
  if (oracle_.is_retired()) {
    co_await calls_.end();
    co_return co_await replays_.load();
  }
  auto why_not = co_await (calls_.end() && replays_.load());
  if (!why_not || why_not->empty()) co_return why_not;
  co_await replays_.end();
  co_return co_await replays_.load();
}

async::Task<Times> ReplayPath::time(DeviceShare& device, ReferenceReplays::Found& reference) {
  StageTimer timer(case_, Stage::time);
  Times times;
  if (auto done = co_await sample(device, reference, times); !done)
    times.seen.ended = std::move(done.error());
  times.instrument = reference.player ? "replay" : "replay, reference by cuda-events";
  if (times.why_none.empty()) times.why_none = "no replay ended within the time for timing";
  co_return times;
}

async::Task<Outcome<>> ReplayPath::sample(DeviceShare& device, ReferenceReplays::Found& reference,
                                          Times& times) {
  const bool replayed = reference.player != nullptr;
  times = co_await ReplayTimer(case_, device, replays_, reference).sample();
  if (replayed && !reference.player) oracle_.process().kept.reset();
  times.clocks = gpu_clocks(case_.context.device);
  if (times.seen.ended) co_return std::unexpected(*times.seen.ended);
  if (!reference.player)
    if (auto timed = co_await time_by_events(device, reference.why_not, times); !timed) co_return timed;
  if (auto compared = co_await compare_with_outside_clock(device, times); !compared) co_return compared;
  if (case_.settings.backward)
    if (auto timed = co_await time_segments(device, reference, times); !timed) co_return timed;
  if (case_.settings.compile_baseline && reference.player) co_await time_compiled_reference(times);
  co_return Outcome<>{};
}

async::Task<Outcome<>> ReplayPath::time_by_events(DeviceShare& device, const std::string& why_not_replayed,
                                                  Times& times) {
  times.findings.push_back("the reference is timed by events in the oracle, since it cannot be replayed: " +
                           why_not_replayed);
  ReferenceClock clock(case_, oracle_);
  auto done = co_await sample_by_events(clock);
  if (done && !clock.refutation().empty() && !device.is_alone()) {
    co_await device.drain();
    clock.forget();
    done = co_await sample_by_events(clock);
  }
  if (done) clock.give(times);
  co_return done;
}

async::Task<Outcome<>> ReplayPath::sample_by_events(ReferenceClock& clock) {
  wire::TimeReferenceT request;
  request.seed = case_.context.seeds.next();
  request.warmup = case_.settings.timing_warmup;
  request.calls = case_.settings.timing_trials;
  request.budget_ms = 5'000;
  request.flush_l2 = true;
  if (auto timed = co_await clock.sample(request, 60s); !timed) co_return timed;
  co_return co_await clock.check();
}

async::Task<Outcome<>> ReplayPath::compare_with_outside_clock(DeviceShare& device, Times& times) {
  if (times.kernel_ms.empty()) co_return Outcome<>{};
  const double single_ms = std::max(median(times.kernel_ms), 1e-3);
  auto clocks = co_await compare_clocks(replays_.player(), single_ms);
  if (clocks && !clocks->finding.empty() && !device.is_alone()) {
    co_await device.drain();
    clocks = co_await compare_clocks(replays_.player(), single_ms);
  }
  if (!clocks) co_return std::unexpected(co_await replays_.player().broken_while_timed(clocks.error()));
  times.clock_check = clocks->check;
  times.clock_check->replays = times.replay_clocks;
  if (clocks->finding.empty()) co_return Outcome<>{};
  times.findings.push_back(std::move(clocks->finding));
  times.kernel_ms.assign(1, clocks->check.supervisor_ms);
  co_return Outcome<>{};
}

async::Task<Outcome<>> ReplayPath::time_segments(DeviceShare& device, ReferenceReplays::Found& reference,
                                                 Times& times) {
  if (times.kernel_ms.empty() || times.reference_ms.empty()) co_return Outcome<>{};
  // The passes are timed by events alone.
  if (std::ranges::any_of(times.findings,
                          [](const std::string& each) { return each.starts_with("clocks"); })) {
    times.why_no_segments = "the clocks disagree on the whole call";
    co_return Outcome<>{};
  }
  const bool replayed = reference.player != nullptr;
  auto timed = co_await SegmentTimer(case_, device, replays_, reference).sample(times);
  if (replayed && !reference.player) oracle_.process().kept.reset();
  co_return timed;
}

// Times the reference under torch.compile with the same instrument; if this fails, a finding gives the
// reason.
async::Task<> ReplayPath::time_compiled_reference(Times& times) {
  auto compiled = co_await ReferenceReplays(case_, oracle_).compiled();
  if (compiled.player) {
    CompiledTime time = co_await sample_compiled(*compiled.player, times.floor_ms);
    compiled.why_not = time.why_not;
    if (time.why_not.empty()) times.compiled_ms = time.ms;
  }
  if (!case_.stop.requested() && !compiled.why_not.empty())
    times.findings.push_back("torch.compile of the reference was not timed: " + compiled.why_not);
}

namespace {

// Without a broker an honest kernel cannot be told from a library's, and without a census no native one.
Ended origins_unknown(const std::string& why) {
  Blame blame = blame_infrastructure(Stage::replay, Error{why, ""});
  blame.times_void = "the origin of the kernels is unknown";
  return blame;
}

}  // namespace

async::Task<Provenance> ReplayPath::find_launches(ReferenceReplays::Found& reference) {
  StageTimer timer(case_, Stage::replay);
  co_await attesting_->done.wait();
  const auto& answer = attesting_->answer;
  if (!answer && !answer.error().started)
    co_return Provenance{
        .ended = origins_unknown("the compile broker could not be started: " + answer.error().why)};
  Origins origins;
  origins.library = reference.cubins;
  if (answer) {
    origins.attested = answer->own;
    origins.library.insert(answer->brought.begin(), answer->brought.end());
    origins.built = code_keys(answer->cubins);
  }
  StaticReport report = examine(case_.job.candidate.code);
  const bool builds = calls_.is_native() && report.native_code;
  // The claims of its process decide only where no build of ours can.
  origins.native_code = builds && (!answer || !answer->not_built.empty());
  origins.native_kernels = std::move(report.native_kernels);
  if (needs_census(replays_.player(), origins)) {
    auto census =
        co_await case_.context.censuses.of(replays_.player().facts(0).compute_capability,
                                           case_.context.servers.cuda->versions().folders, case_.stop);
    if (case_.stop.requested()) co_return Provenance{.ended = Stopped{}};
    // Only a candidate with native code can own a kernel that Triton did not make.
    if (!census && (origins.native_code || !origins.built.empty()))
      co_return Provenance{
          .ended = origins_unknown("the census of library kernels is missing: " + census.error().what)};
    if (census) origins.census = std::move(*census);
  }
  const bool replayed = reference.player != nullptr;
  Provenance found = co_await find_provenance({replays_.player(), origins, case_.settings, reference});
  if (replayed && !reference.player) oracle_.process().kept.reset();
  if (!answer) found.findings.push_back("no kernel could be attested: " + answer.error().why);
  if (std::string finding = answer ? about_builds(found.launches, *answer, builds) : ""; !finding.empty())
    found.findings.push_back(std::move(finding));
  co_return found;
}

async::Task<Evidence> ReplayPath::audit(wire::Weights weights) {
  Evidence seen{.weights = weights, .audits = {{"unrecorded_calls"}}};
  constexpr std::uint64_t parts = 1'000'000;
  const bool is_drawn = static_cast<double>(case_.context.seeds.next() % parts) <
                        case_.settings.audit * static_cast<double>(parts);
  if (!is_drawn && case_.settings.audit_calls == 0) co_return seen;
  if (auto started = co_await calls_.start(case_.context.plain_runners); !started) {
    seen.ended = std::move(started.error());
    co_return seen;
  }
  const StageTimes times = case_.times;
  calls_.restart_clock();
  auto right = co_await call_unrecorded(seen);
  AuditCheck& check = seen.audits.front();
  check.outcome = right ? CheckOutcome::right : CheckOutcome::failed;
  for (Judgement& each : seen.judgements) {
    each.purpose = TrialPurpose::audit;
    if (!each.judged.right) check.outcome = CheckOutcome::wrong;
  }
  check.trials = seen.judgements.size();
  if (!right) {
    if (auto* blame = std::get_if<Blame>(&right.error())) {
      blame->error = "without the recorder in its process: " + blame->error;
      blame->times_void = "the candidate is not right where it is not recorded";
    }
    seen.ended = std::move(right.error());
  } else {
    if (case_.settings.timing_trials > 0)
      seen.call_speedup = co_await calls_.call_speedup(whole_calls_budget_ms, whole_calls_limit);
    case_.times = times;
  }
  co_await calls_.end();
  co_return seen;
}

async::Task<Outcome<>> ReplayPath::call_unrecorded(Evidence& seen) {
  auto loaded = co_await calls_.load(wire::Mode::cuda, "nan", seen);
  const auto count = static_cast<std::uint32_t>(2 + case_.context.seeds.next() % 2);
  if (!loaded) co_return loaded;
  const std::uint32_t first = call_count_ + case_.settings.correctness_trials;
  for (std::uint32_t k = first; k < first + count; ++k)
    if (auto right = co_await calls_.trial(k, {}, case_.settings.timeout, seen); !right) co_return right;
  co_return co_await calls_.further_calls(
      {.first = first + count, .count = case_.settings.audit_calls, .budget = case_.settings.timeout}, seen);
}

}  // namespace kw::verify
