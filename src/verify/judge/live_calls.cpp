#include "verify/judge/live_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "verify/judge/context.h"
#include "verify/judge/provenance.h"
#include "verify/recording/limits.h"

namespace kw::verify {

using async::Deadline;

namespace {

const char* words_for(wire::Backward backward, bool has_entry) {
  switch (backward) {
    case wire::Backward::once:
      return "";
    case wire::Backward::strided:
      return "with cotangents whose strides are not those of the outputs: ";
    case wire::Backward::retained:
      return has_entry ? "in a second call of triton_kernel_backward: "
                       : "in a second backward pass over the same graph: ";
    case wire::Backward::partial:
      return has_entry ? "where triton_kernel_backward is called before the forward function: "
                       : "where every other input and parameter needs no gradient: ";
    case wire::Backward::expanded:
      return "with expanded cotangents, whose strides are 0 along dimensions in which they are equal: ";
  }
  return "";
}

}  // namespace

std::vector<Launch> launches_of(const wire::ReturnedT& returned, Device device) {
  std::vector<Launch> launches;
  for (const auto& from : returned.launches) {
    Launch& launch = launches.emplace_back(launch_of(*from));
    launch.whose = "candidate";
    if (from->cubin_sha256.empty()) launch.cubin_sha256.reset();
    if (from->num_warps > 0) launch.block = {std::uint64_t{from->num_warps} * 32, 1, 1};
    if (from->ms >= 0 && device == Device::cuda) launch.time_ms = from->ms;
  }
  return launches;
}

LaunchList claimed_launches(const wire::ReturnedT& returned, Device device) {
  LaunchList list;
  for (Launch& each : launches_of(returned, device)) {
    EvidenceLaunch& launch = list.launches.emplace_back();
    launch.source = FactSource::claim;
    launch.name = std::move(each.name);
    launch.whose = std::move(each.whose);
    launch.grid = std::move(each.grid);
    launch.block = std::move(each.block);
    launch.time_ms = each.time_ms;
  }
  list.left_out = returned.launch_count - std::min<std::size_t>(returned.launch_count, list.launches.size());
  return list;
}

async::Task<Outcome<>> LiveCalls::start(std::shared_ptr<engine::ForkServer> server) {
  engine::SpawnRequest request;
  request.role = engine::Role::runner;
  request.limits = case_.context.limits;
  auto worker = co_await server->spawn(std::move(request), Deadline::in(spawn_limit));
  co_return take(std::move(worker), server);
}

async::Task<Outcome<>> LiveCalls::start(engine::SpareWorkers& spares) {
  auto server = case_.context.servers.cuda;  // before the wait, since one that dies is replaced
  auto worker = co_await spares.take(Deadline::in(spawn_limit));
  co_return take(std::move(worker), server);
}

Outcome<> LiveCalls::take(Result<std::unique_ptr<engine::Worker>> worker,
                          std::shared_ptr<engine::ForkServer> from) {
  auto page = engine::ProgressPage::create();
  if (!worker || !page)
    return could_not_start(Stage::import_, !worker ? worker.error() : page.error(), case_.stop);
  (*worker)->heed(&case_.stop);
  // A large task that is alone on the device needs most of it.
  if (case_.context.memory_guard != nullptr && !(oracle_.is_retired() && case_.is_alone))
    watched_ = case_.context.memory_guard->watch(**worker, case_.is_alone);
  runner_ = std::make_unique<engine::Runner>(std::move(*worker), std::move(*page));
  forked_by_ = std::move(from);
  layers_ = runner_->layers();
  calls_of_process_ = 0;
  return {};
}

// A failure in its process is the candidate's fault, unless the fork server died too: a runner ends with the
// process that forked it, which a candidate cannot reach.
std::unexpected<Ended> LiveCalls::ended(const engine::WorkerFailure& refusal, Stage stage) const {
  if (was_stopped(refusal)) return std::unexpected<Ended>(Stopped{});
  if (refusal.lost && forked_by_ && !forked_by_->alive())
    return std::unexpected<Ended>(
        blame_infrastructure(stage, Error{"the fork server of its process died", ""}));
  const auto timeout = is_out_of_time() ? std::optional(case_.settings.timeout) : std::nullopt;
  return std::unexpected<Ended>(
      blame_candidate(refusal, {stage, case_.settings.device, runner_->in_launch(), runner_->printed(),
                                case_.job.candidate.code, timeout}));
}

// The candidate's code is not in the process yet, so no failure is the candidate's, and the candidate's
// deadline, which an earlier process may have used up, does not apply.
async::Task<Outcome<>> LiveCalls::open(wire::Mode mode, std::string poison) {
  wire::OpenT request;
  request.mode = mode;
  request.poison = std::move(poison);
  request.configuration = configuration_;
  auto opened = co_await runner_->open(std::move(request), case_.job.candidate.code, oracle_.call_spec(),
                                       drawn_.arena.get(), Deadline::in(load_limit));
  if (opened) co_return Outcome<>{};
  if (was_stopped(opened.error())) co_return std::unexpected<Ended>(Stopped{});
  Blame blame = blame_infrastructure(
      Stage::import_,
      Error{"the candidate's process could not be prepared: " + refusal_words(opened.error()), ""});
  blame.doubt = doubt_about(opened.error());
  co_return std::unexpected<Ended>(std::move(blame));
}

async::Task<Outcome<>> LiveCalls::load(wire::Mode mode, std::string poison, Evidence& seen) {
  if (auto drawn = co_await draw(0); !drawn) co_return drawn;
  StageTimer timer(case_, Stage::import_);
  if (auto opened = co_await open(mode, std::move(poison)); !opened) co_return opened;
  wire::LoadT request;
  request.entry = case_.job.candidate.entry;
  request.file_name = "kernel.py";
  request.weights = seen.weights;
  request.tf32 = case_.settings.tf32;
  auto loaded = co_await runner_->load(std::move(request), deadline_.or_in(load_limit));
  if (!loaded) co_return ended(loaded.error(), Stage::import_);
  has_backward_entry_ = loaded->backward_entry;
  seen.loaded = std::move(*loaded);
  co_return Outcome<>{};
}

async::Task<> LiveCalls::end() {
  watched_ = {};
  if (runner_) {
    co_await runner_->end();
    if (std::string text = runner_->printed(); !trim(text).empty()) printed_ = std::move(text);
  }
  runner_.reset();
  drawn_.arena.reset();
}

async::Task<Outcome<>> LiveCalls::draw(std::uint32_t trial, wire::Backward backward) {
  auto drawn = co_await oracle_.draw(trial, {}, backward == wire::Backward::expanded);
  if (!drawn) co_return std::unexpected(drawn.error());
  drawn_ = std::move(*drawn);
  co_return Outcome<>{};
}

// An earlier trial was right with an ordinary backward pass, so the way of this one is part of the error.
Ended LiveCalls::in_backward(Ended ended, wire::Backward backward) const {
  auto* blame = std::get_if<Blame>(&ended);
  if (blame != nullptr && blame->fault == Fault::kernel)
    blame->error = words_for(backward, has_backward_entry_) + blame->error;
  return ended;
}

// The ways of the backward pass in turns, so that several trials meet each of them.
wire::Backward LiveCalls::backward_of(std::uint32_t trial, const How& how) const {
  if (!case_.settings.backward || how.timed) return wire::Backward::once;
  return static_cast<wire::Backward>(trial % backward_ways);
}

async::Task<Outcome<wire::ReturnedT>> LiveCalls::call(std::uint32_t trial, How how,
                                                      std::chrono::milliseconds budget) {
  if (!drawn_.arena)
    if (auto drawn = co_await draw(trial, how.backward); !drawn) co_return std::unexpected(drawn.error());
  Fd arena = std::exchange(drawn_.arena, {});
  StageTimer timer(case_, Stage::run);
  wire::CallT request;
  request.trial = trial;
  request.seed = call_seed(drawn_.seed);
  request.budget_ms = static_cast<double>(budget.count());
  request.effect = how.effect;
  request.poison = std::move(how.poison);
  request.timed = how.timed;
  request.backward = how.backward;
  request.at_edge = std::move(how.at_edge);
  request.waits = how.waits;
  ++calls_of_process_;
  request.flush_l2 = how.timed;
  const auto began = async::SteadyClock::now();
  auto returned = co_await runner_->call(std::move(request), arena.get(), deadline_.or_in(budget));
  if (!returned) co_return ended(returned.error(), Stage::run);
  const double call_ms = async::ms_since(began);
  shortest_ms_ = shortest_ms_ > 0 ? std::min(shortest_ms_, call_ms) : call_ms;
  co_return std::move(*returned);
}

async::Task<Outcome<>> LiveCalls::judge(std::unique_ptr<wire::ValueT> outputs, Evidence& seen) {
  auto judged = co_await oracle_.judge(drawn_, std::move(outputs));
  if (!judged) co_return std::unexpected(judged.error());
  seen.judgements.push_back({std::move(*judged), std::size_t{drawn_.trial} + 1});
  const wire::JudgedT& last = seen.judgements.back().judged;
  if (!last.right) co_return std::unexpected<Ended>(blame_result(last));
  co_return Outcome<>{};
}

async::Task<Outcome<>> LiveCalls::trial(std::uint32_t trial, How how, std::chrono::milliseconds budget,
                                        Evidence& seen) {
  const wire::Backward backward = how.backward = backward_of(trial, how);
  auto returned = co_await call(trial, std::move(how), budget);
  if (!returned) co_return std::unexpected(in_backward(std::move(returned.error()), backward));
  count(*returned);
  if (trial == 0) {
    seen.launches = launches_of(*returned, case_.settings.device);
    seen.launch_list = claimed_launches(*returned, case_.settings.device);
  }
  auto right = co_await judge(std::move(returned->outputs), seen);
  if (!right) co_return std::unexpected(in_backward(std::move(right.error()), backward));
  co_return right;
}

async::Task<Outcome<FamilyAnswer>> LiveCalls::family(std::uint32_t trial, std::string family,
                                                     std::chrono::milliseconds budget) {
  auto drawn = co_await oracle_.draw(trial, std::move(family));
  if (!drawn) co_return std::unexpected(drawn.error());
  drawn_ = std::move(*drawn);
  FamilyAnswer answer{.drawn = drawn_.facts};
  if (!answer.drawn.dropped.empty()) co_return answer;
  restart_clock();
  auto returned = co_await call(trial, {}, budget);
  if (!returned) {
    const auto* blame = std::get_if<Blame>(&returned.error());
    if (blame == nullptr || blame->fault == Fault::infrastructure)
      co_return std::unexpected(returned.error());
    answer.failure = *blame;
    co_return answer;
  }
  auto judged = co_await oracle_.judge(drawn_, std::move(returned->outputs));
  if (!judged) co_return std::unexpected(judged.error());
  answer.judged = std::move(*judged);
  co_return answer;
}

void LiveCalls::count(const wire::ReturnedT& returned) {
  launches_ += returned.launch_count;
  native_code_ = native_code_ || returned.native_code;
  configurations_ = std::max(configurations_, returned.configurations);
}

async::Task<Outcome<>> LiveCalls::further_calls(Further these, Evidence& seen) {
  AuditCheck check{.name = "further_calls", .outcome = CheckOutcome::right};
  const std::size_t before = seen.judgements.size();
  const auto limit = async::Deadline::in(case_.settings.timeout);
  Outcome<> done;
  std::uint32_t made = 0;
  for (; made < these.count && done && !limit.passed(); ++made) {
    How how;
    if (!these.poisons.empty()) how.poison = these.poisons[made % these.poisons.size()];
    restart_clock();
    done = co_await trial(these.first + made, std::move(how), these.budget, seen);
  }
  check.trials = seen.judgements.size() - before;
  for (std::size_t each = before; each < seen.judgements.size(); ++each)
    seen.judgements[each].purpose = TrialPurpose::audit;
  if (done && made < these.count && made > 0)
    seen.judgements.back().finding = fmt::format(
        "--audit-calls: the time limit ended the further calls after {} of {}", made, these.count);
  if (!done) {
    auto* blame = std::get_if<Blame>(&done.error());
    check.outcome =
        blame != nullptr && blame->status == Status::incorrect ? CheckOutcome::wrong : CheckOutcome::failed;
    if (blame != nullptr && blame->fault == Fault::kernel)
      blame->error = fmt::format("call {}: {}", calls_of_process_, blame->error);
  }
  if (these.count > 0) seen.audits.push_back(std::move(check));
  co_return done;
}

async::Task<Outcome<>> LiveCalls::first_calls(Evidence& seen) {
  if (auto right = co_await trial(0, {}, case_.settings.timeout, seen); !right) co_return right;
  const std::uint64_t first_seed = drawn_.seed;
  if (auto right = co_await trial(1, {}, case_.settings.timeout, seen); !right) co_return right;
  co_return co_await first_result_stays(first_seed, seen);
}

async::Task<Outcome<>> LiveCalls::first_result_stays(std::uint64_t first_seed, Evidence& seen) {
  wire::CallT request;
  request.previous = true;
  auto returned = co_await runner_->call(std::move(request), -1, deadline_.or_in(case_.settings.timeout));
  if (!returned) co_return ended(returned.error(), Stage::run);
  AuditCheck& kept = seen.audits.emplace_back("kept_result");
  if (!returned->outputs) co_return Outcome<>{};  // the output is an input, whose memory is filled again
  auto judged = co_await oracle_.judge_outputs(drawn_.trial, first_seed, std::move(returned->outputs));
  if (!judged) co_return std::unexpected(judged.error());
  kept.outcome = judged->right ? CheckOutcome::right : CheckOutcome::wrong;
  kept.trials = 1;
  if (judged->right) co_return Outcome<>{};
  Blame blame = blame_result(*judged);
  blame.error = "the result of a call changed when a later call was made: " + blame.error;
  seen.judgements.push_back({.judged = std::move(*judged), .purpose = TrialPurpose::kept_result});
  co_return std::unexpected<Ended>(std::move(blame));
}

async::Task<Outcome<LiveCalls::Recorded>> LiveCalls::record(std::uint32_t trial, Evidence& seen) {
  if (auto drawn = co_await draw(trial); !drawn) co_return std::unexpected(drawn.error());
  Fd arena = std::exchange(drawn_.arena, {});
  wire::RecordT request;
  request.trial = trial;
  request.seed = call_seed(drawn_.seed);
  request.budget_ms = static_cast<double>(case_.settings.timeout.count());
  request.input_address = recording::arena_address;
  ++calls_of_process_;
  auto began = async::SteadyClock::now();
  auto recorded =
      co_await runner_->record(std::move(request), arena.get(), deadline_.or_in(case_.settings.timeout));
  case_.times[Stage::record] += async::ms_since(began);
  if (!recorded) {
    const engine::WorkerFailure& refusal = recorded.error();
    if (!refusal.failed || refusal.failed->error_class != to_string(ErrorClass::unsupported_candidate))
      co_return ended(refusal, Stage::record);
    co_return Recorded(std::unexpected(to_plain_text(refusal.failed->error)));
  }
  wire::ReturnedT returned = *recorded->facts.returned;
  count(returned);
  const std::size_t before = seen.judgements.size();
  auto right = co_await judge(std::move(returned.outputs), seen);
  if (seen.judgements.size() > before) seen.judgements.back().purpose = TrialPurpose::recording;
  if (!right) co_return std::unexpected(right.error());
  co_return Recorded(std::move(*recorded));
}

async::Task<Outcome<wire::JudgedT>> LiveCalls::judged(std::unique_ptr<wire::ValueT> outputs) {
  return oracle_.judge_outputs(drawn_.trial, drawn_.seed, std::move(outputs));
}

async::Task<bool> LiveCalls::check_decoy(std::string name, std::unique_ptr<wire::ValueT> outputs,
                                         Evidence& seen) {
  DecoyCheck check{.name = std::move(name), .outcome = CheckOutcome::not_run};
  bool is_proof = true;
  if (outputs) {
    auto found = co_await judged(std::move(outputs));
    check.outcome = !found ? CheckOutcome::failed : found->right ? CheckOutcome::right : CheckOutcome::wrong;
  }
  if (check.outcome == CheckOutcome::right) {
    auto zeros = co_await oracle_.judge_zeros(drawn_.trial, drawn_.seed);
    is_proof = zeros && !zeros->right;
    if (!is_proof) check.outcome = CheckOutcome::not_run;
  }
  seen.decoy = seen.decoy || check.outcome == CheckOutcome::right;
  seen.decoys.push_back(std::move(check));
  co_return is_proof;
}

async::Task<std::optional<double>> LiveCalls::call_speedup(double budget_ms,
                                                           std::chrono::milliseconds at_most) {
  wire::TimeCandidateT candidate;
  candidate.warmup = 1;
  candidate.calls = 1;
  candidate.budget_ms = budget_ms;
  wire::TimeReferenceT reference;
  reference.seed = drawn_.seed;
  reference.warmup = 1;
  reference.calls = 1;
  reference.budget_ms = budget_ms;
  auto own = co_await runner_->time(candidate, deadline_.or_in(at_most));
  auto theirs = co_await oracle_.time_reference(reference, at_most);
  if (!own || !theirs || own->call_ms <= 0 || theirs->call_ms <= 0) co_return std::nullopt;
  co_return theirs->call_ms / own->call_ms;
}

}  // namespace kw::verify
