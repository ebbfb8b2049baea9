#include "verify/judge/attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "code/syntax/outline.h"
#include "code/syntax/static_findings.h"
#include "verify/judge/cpu_path.h"
#include "verify/judge/in_process_path.h"
#include "verify/judge/replay_path.h"
#include "verify/judge/sanitizers.h"
#include "verify/judge/varied_shapes.h"

namespace kw::verify {
namespace {

constexpr std::size_t max_source_bytes = std::size_t{4} << 20;

Blame static_refusal(ErrorClass error_class, std::string error) {
  return {Stage::static_, Status::failed, Fault::kernel, error_class, std::move(error)};
}

ErrorDetail at_line(std::size_t line) {
  ErrorDetail detail;
  detail.file = "kernel.py";
  detail.line = static_cast<std::int64_t>(line);
  return detail;
}

// Whether a line begins like an import or a definition, which a parser may lose after a syntax error.
bool has_definitions(std::string_view code) {
  while (!code.empty()) {
    std::string_view line = code.substr(0, code.find('\n'));
    for (std::string_view word : {"def ", "async def ", "class ", "import ", "from ", "@"})
      if (line.starts_with(word)) return true;
    code.remove_prefix(std::min(code.size(), line.size() + 1));
  }
  return false;
}

std::vector<std::string> entries(const Job& job) {
  if (!job.candidate.entry.empty()) return {job.candidate.entry};
  std::vector<std::string> names{"ModelNew", "triton_kernel_wrapper"};
  if (!job.task.entry_point.empty()) names.push_back(job.task.entry_point + "New");
  return names;
}

// <Name>New may stand for a reference class whose name is not known before it is loaded.
bool may_have_entry(const StaticReport& report, const Job& job) {
  for (const std::string& name : entries(job))
    if (may_define(report, name)) return true;
  if (!job.candidate.entry.empty()) return false;
  for (const std::string& name : report.names)
    if (name.ends_with("New")) return true;
  return false;
}

}  // namespace

std::optional<Blame> examine_statically(const Job& job) {
  if (job.candidate.code.size() > max_source_bytes)
    return static_refusal(ErrorClass::forbidden,
                          fmt::format("the source has {} bytes; at most {} are looked through",
                                      job.candidate.code.size(), max_source_bytes));
  StaticReport report = examine(job.candidate.code);
  if (!report.forbidden.empty()) {
    const StaticFinding& first = report.forbidden.front();
    Blame blame = static_refusal(ErrorClass::forbidden,
                                 fmt::format("line {}: {} is forbidden", first.line, first.what));
    if (first.line > 0) blame.detail = at_line(first.line);
    return blame;
  }
  // Of a module with an error, Python's compiler decides; a text without any statement of one is no module.
  if (report.has_error && report.names.empty() && !report.open && !has_definitions(job.candidate.code)) {
    Blame blame{Stage::parse, Status::failed, Fault::kernel, ErrorClass::syntax_error,
                fmt::format("line {}: the candidate is not Python source", report.error_line)};
    if (report.error_line > 0) blame.detail = at_line(report.error_line);
    return blame;
  }
  // A module that does not parse has no names to look for; Python's compiler reports the error later.
  if (report.has_error || may_have_entry(report, job)) return std::nullopt;
  return static_refusal(
      ErrorClass::missing_entry,
      fmt::format("the candidate defines none of: {}; it defines {}", fmt::join(entries(job), ", "),
                  names_in_words(outline(job.candidate.code))));
}

// The sequence of one verdict, from top to bottom. Each part returns a value; the writer alone changes the
// verdict.

namespace {

Blame recordings_are_lost() {
  return blame_infrastructure(Stage::replay,
                              Error{"the recordings cannot be loaded again after varied inputs", ""});
}

}  // namespace

Attempt::Attempt(Context& context, const Job& job, Settings settings, async::Stop& stop,
                 const Tries::Earlier& earlier)
    : settings_(std::move(settings)),
      earlier_(earlier),
      row_(Timeline::row(context.timeline, "verdicts")),
      writer_(job, settings_, context.environment),
      case_{context, job, settings_, stop, writer_.stage_times(), is_alone_, row_},
      oracle_(case_),
      calls_(case_, oracle_),
      device_(context.leases, stop, row_) {
  // The reference may have broken its process on inputs that its task never draws.
  if (earlier_.oracles_lost > 0) oracle_.give_up_varied_inputs();
}

async::Task<> Attempt::run() {
  if (is_refused_statically()) co_return;
  // The oracle comes first: an attempt that holds a share of the device then never waits for one that waits
  // for all of it.
  if (auto taken = co_await take_oracle(); !taken) {
    writer_.end(taken.error());
    co_return;
  }
  co_await take_device();
  calls_.restart_clock();
  if (!case_.stop.requested()) co_await judge();
  co_await calls_.end();
  lost_its_oracle_ = oracle_.process().broke();
  // Each was a fresh process that had answered before it got the reference.
  if (lost_its_oracle_ && earlier_.oracles_lost + 1 >= Tries::most) writer_.blame_the_task();
  if (oracle_.is_retired()) co_await oracle_.end_process();
  device_.give_back();
  co_await oracle_.give_back();
  if (calls_.layers()) writer_.take_isolation(*calls_.layers());
  writer_.take_printed(calls_.printed());
  writer_.forgive_at_reduced_shapes();
  writer_.finish_evidence(oracle_.spec());
}

// One that must be alone waits for the end of the others when there is no memory for its oracle. It gives the
// device back before it waits for an oracle, which others may hold that wait for the device.
async::Task<Outcome<>> Attempt::take_oracle() {
  auto taken = co_await oracle_.take();
  if (taken || !earlier_.is_alone || case_.stop.requested()) co_return taken;
  co_await take_device_alone();
  device_.give_back();
  co_return co_await oracle_.take();
}

async::Task<> Attempt::take_device() {
  if (earlier_.is_alone)
    co_await take_device_alone();
  else
    co_await device_.take();
}

async::Task<> Attempt::take_device_alone() {
  co_await device_.take_all();
  if (settings_.device == Device::cuda) co_await case_.context.oracles.end_idle();
  is_alone_ = device_.is_alone();
}

Tries::Result Attempt::result() const {
  const Verdict& verdict = writer_.verdict();
  Tries::Result result{verdict.fault, lost_its_oracle_};
  if (is_alone_) return result;
  result.doubt = writer_.doubt();
  // Without a replay of the reference a right kernel has no sound speed-up.
  if (result.doubt.empty() && verdict.status == Status::correct)
    result.doubt = doubt_about(reference_.why_not);
  return result;
}

void Attempt::show(Timeline::Clock::time_point since) const {
  const Verdict& verdict = writer_.verdict();
  row_.add(case_.job.id, since,
           {{"task", case_.job.task.task_id},
            {"try", earlier_.oracles_lost + 1},
            {"status", stopped() ? "stopped" : to_string(verdict.status)},
            {"device", case_.context.device}});
}

bool Attempt::is_refused_statically() {
  StageTimer timer(case_, Stage::static_);
  auto blame = examine_statically(case_.job);
  if (blame) writer_.end(*blame);
  return blame.has_value();
}

async::Task<> Attempt::judge() {
  const bool cpu = settings_.device == Device::cpu;
  writer_.begin(cpu ? Trust::interpreter : Trust::in_process);
  auto prepared = co_await (cpu ? oracle_.prepare_on_cpu() : oracle_.prepare_on_gpu(device_));
  if (!cpu) is_alone_ = device_.is_alone();
  if (!prepared) {
    writer_.end(prepared.error());
    co_return;
  }
  writer_.take_task(oracle_.facts());
  co_await (cpu ? on_cpu() : on_cuda());
}

// Compiles at shapes that the interpreter can afford, then interprets.
async::Task<> Attempt::on_cpu() {
  CpuPath path(case_, oracle_, calls_);
  const Evidence compiled = co_await path.compile();
  writer_.take(compiled);
  if (compiled.ended) co_return;
  const Judge judge = [&](wire::Weights weights) { return path.interpret(weights); };
  const Evidence seen = co_await under_either_weights(judge);
  if (seen.ended || !co_await sanitize(seen.weights, {}) || !co_await vary_shapes(seen.weights)) co_return;
  writer_.finish_right(oracle_.facts(), {.are_there = calls_.launched(),
                                         .are_triton = calls_.launches() > 0,
                                         .are_decoys = compiled.decoy || seen.decoy});
}

// Records, replays and times; judges and times in-process if the calls cannot be replayed.
async::Task<> Attempt::on_cuda() {
  if (settings_.replay) co_await find_reference();
  ReplayPath replay(case_, oracle_, calls_);
  InProcess in_process(case_, oracle_, calls_);
  const Judge judge = [&](wire::Weights weights) { return judge_on_gpu(replay, in_process, weights); };
  const Evidence seen = co_await under_either_weights(judge);
  if (!seen.ended && seen.why_not_replayed.empty())
    co_await finish_replayed(replay, in_process, seen.weights);
  else if (!seen.ended)
    co_await finish_in_process(in_process, seen);
  co_await replay.replays().end();
}

async::Task<> Attempt::find_reference() {
  if (oracle_.facts().reference_random)
    reference_.why_not = "it draws random numbers";
  else
    reference_ = co_await ReferenceReplays(case_, oracle_).eager();
}

async::Task<> Attempt::resume_reference() {
  auto resumed = co_await reference_.player->resume();
  if (resumed) co_return;
  co_await reference_.player->end();
  oracle_.process().kept.reset();
  reference_ = {.why_not = resumed.error()};
}

// A constructor may pack the weights, and then only the constructed weights are right. So a candidate that is
// right under either convention is right. If both fail, the verdict is that of the first.
async::Task<Evidence> Attempt::under_either_weights(Judge judge) {
  Evidence loaded = co_await judge(wire::Weights::automatic);
  writer_.take(loaded);
  const bool wrong = loaded.ended && writer_.verdict().status == Status::incorrect;
  if (!wrong || !loaded.loaded || !loaded.loaded->weights_differ) co_return loaded;
  co_await calls_.end();
  const StageTimes times = case_.times;
  Evidence constructed = co_await judge(wire::Weights::constructed);
  if (constructed.ended) {
    case_.times = times;
    co_return loaded;
  }
  writer_.forget_errors();
  writer_.take(constructed);
  co_return constructed;
}

async::Task<Evidence> Attempt::judge_on_gpu(ReplayPath& replay, InProcess& in_process,
                                            wire::Weights weights) {
  Evidence seen{.weights = weights};
  if (settings_.replay)
    seen = co_await replay.judge(weights);
  else
    seen.why_not_replayed =
        case_.context.why_no_replay.empty() ? "the replayer was lost" : case_.context.why_no_replay;
  if (seen.ended || seen.why_not_replayed.empty()) co_return seen;
  co_return co_await in_process.judge(std::move(seen));
}

async::Task<> Attempt::finish_replayed(ReplayPath& replay, InProcess& in_process, wire::Weights weights) {
  CandidateReplays& replays = replay.replays();
  writer_.take_replays(replays.player().facts(0), replays.player().tapes());
  // The families come before the times: a large task is timed alone on the device, and others wait for its
  // end.
  auto varied = co_await vary_inputs(replays);
  if (varied && !replays.is_loaded()) varied = std::unexpected<Ended>(recordings_are_lost());
  if (!varied) {
    writer_.end(varied.error());
    co_return;
  }
  if (settings_.timing_trials > 0) {
    const Times times = co_await replay.time(device_, reference_);
    writer_.take(times, oracle_.moved_bytes());
    if (times.seen.ended) co_return;
  }
  const Provenance found = co_await replay.find_launches(reference_);
  writer_.take(found);
  if (found.ended) co_return;
  co_await replays.end();
  varied = co_await call_on_the_rest(std::move(*varied), in_process, weights);
  if (!varied) {
    writer_.end(varied.error());
    co_return;
  }
  if (varied->generality) writer_.take(std::move(*varied->generality));
  const Evidence audited = co_await replay.audit(weights);
  writer_.take_audit(audited);
  const ToolCheck::Recordings recordings{.tapes = replays.tapes(),
                                         .libraries = kernels_of_libraries(found.launch_list.launches)};
  if (audited.ended || !co_await sanitize(weights, recordings) || !co_await vary_shapes(weights)) co_return;
  writer_.finish_right(oracle_.facts(), {.are_there = found.own_launches > 0,
                                         .are_triton = found.triton_launches > 0,
                                         .are_decoys = found.decoy,
                                         .wrap_reference = found.wraps_reference});
}

async::Task<Outcome<FamilyAnswer>> Attempt::replay_family(CandidateReplays& replays, FamilyQuestion asked,
                                                          std::vector<std::string>& unreplayed) {
  std::string family = asked.family;
  co_await device_.step_aside();
  if (case_.stop.requested()) co_return std::unexpected<Ended>(Stopped{});
  auto answer = co_await replays.family(std::move(asked));
  if (answer && answer->took_another_way) unreplayed.push_back(std::move(family));
  co_return answer;
}

async::Task<Outcome<Attempt::Varied>> Attempt::vary_inputs(CandidateReplays& replays) {
  Varied varied;
  if (!oracle_.varies_inputs()) co_return varied;
  StageTimer timer(case_, Stage::replay);
  const DeviceShare::Yielding yielding(device_);
  // A family takes several copies of the outputs in float64, and the memory of the reference's replays with
  // it.
  const bool lacks_room = oracle_.is_large() && reference_.player && !oracle_.facts().families.empty();
  if (lacks_room) co_await reference_.player->end();
  auto found = co_await try_families(
      {oracle_.facts().families, most_families_on_device(oracle_.moved_bytes()), is_alone_,
       case_.context.seeds.next()},
      [&](FamilyQuestion asked) { return replay_family(replays, std::move(asked), varied.unreplayed); });
  if (!found) co_return std::unexpected(found.error());
  if (lacks_room) co_await resume_reference();
  varied.generality = std::move(*found);
  co_return varied;
}

// A recording says nothing of a family on which the host code would have made other launches.
async::Task<Outcome<Attempt::Varied>> Attempt::call_on_the_rest(Varied varied, InProcess& in_process,
                                                                wire::Weights weights) {
  if (varied.unreplayed.empty()) co_return varied;
  auto found = co_await in_process.call_on_families(std::move(varied.unreplayed), weights);
  if (!found) co_return std::unexpected(found.error());
  for (FamilyTrial& called : found->families)
    for (FamilyTrial& replayed : varied.generality->families)
      if (replayed.family == called.family) replayed = called;
  varied.unreplayed.clear();
  co_return varied;
}

// Whether the attempt goes on.
async::Task<bool> Attempt::sanitize(wire::Weights weights, const ToolCheck::Recordings& recordings) {
  if (settings_.sanitize.empty()) co_return true;
  Sanitizers::Found found = co_await Sanitizers(case_, oracle_, calls_, weights, recordings).run();
  writer_.take_sanitized(std::move(found.checks));
  if (found.ended) writer_.end(*found.ended);
  co_return !found.ended;
}

// Whether the attempt goes on.
async::Task<bool> Attempt::vary_shapes(wire::Weights weights) {
  if (settings_.varied_shapes == "off" || !calls_.launched()) co_return true;
  Outcome<std::vector<FamilyTrial>> trials;
  if (!oracle_.facts().reference_random)
    trials = co_await VariedShapes(case_, oracle_, calls_, weights).run();
  if (trials)
    writer_.take_shapes(std::move(*trials));
  else
    writer_.end(trials.error());
  co_return trials.has_value();
}

async::Task<> Attempt::finish_in_process(InProcess& in_process, const Evidence& judged) {
  if (settings_.timing_trials > 0) {
    const Times times = co_await in_process.time(device_);
    writer_.take(times, oracle_.moved_bytes());
    if (times.seen.ended) co_return;
  }
  const ToolCheck::Recordings none{.why_none = judged.why_not_replayed};
  if (!co_await sanitize(judged.weights, none) || !co_await vary_shapes(judged.weights)) co_return;
  writer_.finish_right(
      oracle_.facts(),
      {.are_there = calls_.launched(), .are_triton = calls_.launches() > 0, .are_decoys = judged.decoy});
}

}  // namespace kw::verify
