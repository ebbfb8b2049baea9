#include "verify/attempt.h"

#include <fmt/format.h>

#include "base/text.h"
#include "verify/blame.h"
#include "verify/limits.h"
#include "verify/statics.h"

namespace kw::verify {

using namespace std::chrono_literals;
using async::Deadline;
using async::SteadyClock;

namespace {

// Adds the time until it goes out of scope to one stage.
class StageTimer {
 public:
  StageTimer(Verdict& verdict, Stage stage) : verdict_(verdict), stage_(stage) {}
  ~StageTimer() { verdict_.stages_ms[stage_] += async::ms_since(start_); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  Verdict& verdict_;
  Stage stage_;
  SteadyClock::time_point start_ = SteadyClock::now();
};

}  // namespace

Attempt::Attempt(Context& context, const Job& job, Settings settings, async::Stop& stop)
    : context_(context),
      job_(job),
      settings_(std::move(settings)),
      stop_(stop),
      oracle_(context, job, settings_, stop),
      candidate_(settings_.device, stop),
      replays_(context, oracle_, stop),
      device_(context.desk) {
  verdict_.id = job.id;
  verdict_.task_id = job.task.task_id;
  verdict_.sample_number = job.sample_number;
  verdict_.candidate_sha256 = candidate_sha256(job.candidate.code);
  if (!job.candidate.kernel_name.empty()) verdict_.kernel_name = job.candidate.kernel_name;
  verdict_.environment = context.environment;
  verdict_.timing.why_null = "the candidate was not timed";
}

Deadline Attempt::own_deadline(std::chrono::milliseconds at_most) const {
  return deadline_.or_in(at_most);
}

async::Task<> Attempt::run() {
  Step step = Step::go_on;
  {
    StageTimer timer(verdict_, Stage::static_);
    if (examine_statically(verdict_, job_)) step = Step::ended;
  }
  if (step == Step::go_on) {
    // The oracle first: whoever holds a share can go on without waiting for those who wait for all of the
    // device.
    if (auto taken = co_await oracle_.take(); !taken) step = end(taken.error());
  }
  if (step == Step::go_on) {
    co_await device_.take();
    deadline_ = Deadline::in(settings_.timeout);
    if (stop_.requested()) {
      stopped_ = true;
      step = Step::ended;
    }
    if (step == Step::go_on) step = co_await (settings_.device == Device::cpu ? on_cpu() : on_cuda());
    if (step == Step::go_on) finish_correct();
    co_await end_runner();
    if (oracle_.is_retired()) co_await oracle_.end_process();
    device_.give_back();
    co_await oracle_.give_back();
  }
  forgive_at_reduced_shapes(verdict_);
}

async::Task<Step> Attempt::prepare(std::uint64_t max_bytes, std::uint32_t halvings) {
  StageTimer timer(verdict_, Stage::prepare);
  if (auto prepared = co_await oracle_.prepare(max_bytes, halvings); !prepared)
    co_return end(prepared.error());
  verdict_.shapes = oracle_.facts().reduced ? Shapes::reduced : Shapes::given;
  verdict_.comparison.emplace();
  verdict_.comparison->tolerance.name = settings_.tolerance.name;
  verdict_.comparison->findings = oracle_.facts().findings;
  if (oracle_.facts().reduced)
    verdict_.comparison->findings.push_back("shapes reduced to " + oracle_.facts().sizes);
  co_return Step::go_on;
}

async::Task<Step> Attempt::start_runner(std::shared_ptr<engine::ForkServer> server) {
  engine::SpawnRequest request;
  request.role = engine::Role::runner;
  request.limits = context_.limits;
  auto worker = co_await server->spawn(std::move(request), Deadline::in(spawn_limit));
  co_return take_worker(std::move(worker), server);
}

async::Task<Step> Attempt::start_gpu_runner() {
  auto server = context_.servers.cuda;  // before the wait, since one that dies is replaced
  co_return take_worker(co_await context_.runners.take(Deadline::in(spawn_limit)), server);
}

Step Attempt::take_worker(Result<std::unique_ptr<engine::Worker>> worker,
                          std::shared_ptr<engine::ForkServer> from) {
  if (auto started = candidate_.start(std::move(worker), std::move(from)); !started)
    return end(started.error());
  const std::uint32_t layers = candidate_.layers();
  auto level = from_string<IsolationLevel>(engine::isolation_level(layers));
  verdict_.isolation = Isolation{level.value_or(IsolationLevel::process), engine::layer_names(layers)};
  return Step::go_on;
}

async::Task<Step> Attempt::load(wire::Mode mode, wire::Weights weights, std::string poison) {
  if (co_await draw(0) == Step::ended) co_return Step::ended;
  StageTimer timer(verdict_, Stage::import_);
  wire::LoadT request;
  request.mode = mode;
  request.entry = job_.candidate.entry;
  request.file_name = "kernel.py";
  request.weights = weights;
  request.tf32 = settings_.tf32;
  request.poison = std::move(poison);
  request.poison_seed = context_.seeds.next();
  auto loaded = co_await candidate_.load(std::move(request), job_.candidate.code, oracle_.call_spec(),
                                         drawn_.arena.get(), own_deadline(load_limit));
  if (!loaded) co_return end(loaded.error());
  loaded_ = std::move(*loaded);
  verdict_.call = Call{loaded_.entry, loaded_.convention, loaded_.arguments, loaded_.weights};
  co_return Step::go_on;
}

async::Task<Step> Attempt::draw(std::uint32_t trial) {
  StageTimer timer(verdict_, Stage::prepare);
  auto drawn = co_await oracle_.draw(trial);
  if (!drawn) co_return end(drawn.error());
  drawn_ = std::move(*drawn);
  co_return Step::go_on;
}

async::Task<Step> Attempt::call(std::uint32_t trial, CallOptions options, std::chrono::milliseconds budget) {
  if (!drawn_.arena && co_await draw(trial) == Step::ended) co_return Step::ended;
  Fd arena = std::exchange(drawn_.arena, {});
  StageTimer timer(verdict_, Stage::run);
  wire::CallT request;
  request.trial = trial;
  request.seed = drawn_.seed;
  request.budget_ms = static_cast<double>(budget.count());
  request.skip_launches = options.skip_launches;
  request.timed = options.timed;
  request.flush_l2 = options.timed;
  auto returned = co_await candidate_.call(std::move(request), arena.get(), own_deadline(budget));
  if (!returned) co_return end(returned.error());
  returned_ = std::move(*returned);
  co_return Step::go_on;
}

async::Task<Step> Attempt::judge(std::uint32_t trial) {
  StageTimer timer(verdict_, Stage::judge);
  auto judged = co_await oracle_.judge(trial, drawn_.seed, std::move(returned_.outputs));
  if (!judged) co_return end(judged.error());
  verdict_.comparison->trials = std::max<std::size_t>(verdict_.comparison->trials, trial + 1);
  take_judgement(verdict_, *judged);
  co_return judged->right ? Step::go_on : Step::ended;
}

async::Task<Step> Attempt::trial(std::uint32_t trial, std::chrono::milliseconds budget) {
  Step step = co_await call(trial, {}, budget);
  if (step == Step::ended) co_return step;
  launches_seen_ += returned_.launch_count;
  native_code_ = native_code_ || returned_.native_code;
  if (trial == 0) record_launches();
  co_return co_await judge(trial);
}

// The outputs of a call whose launches did nothing: where they are right all the same, the kernels are
// decoys.
async::Task<bool> Attempt::right_without_launches() {
  if (returned_.outputs == nullptr) co_return false;
  auto judged = co_await oracle_.judge_outputs(drawn_.seed, std::move(returned_.outputs));
  co_return judged && judged->right;
}

async::Task<> Attempt::end_runner() {
  co_await candidate_.end();
  drawn_.arena.reset();
}

Step Attempt::end(const Ended& ended) {
  if (std::holds_alternative<Stopped>(ended)) stopped_ = true;
  if (const auto* ours = std::get_if<OurFault>(&ended))
    blame_infrastructure(verdict_, ours->stage, ours->error);
  if (const auto* oracle = std::get_if<OracleRefusal>(&ended)) {
    stopped_ = stopped_ || was_stopped(oracle->refusal);
    blame_task(verdict_, oracle->refusal, oracle->stage);
  }
  if (const auto* candidate = std::get_if<CandidateRefusal>(&ended))
    blame_candidate(verdict_, candidate->refusal, candidate->where);
  if (const auto* overrun = std::get_if<Overrun>(&ended)) {
    verdict_.status = Status::failed;
    verdict_.stage = Stage::replay;
    verdict_.fault = Fault::kernel;
    verdict_.error_class = ErrorClass::out_of_bounds;
    verdict_.error = "a kernel wrote behind the end of " + overrun->of;
  }
  if (const auto* unjoined = std::get_if<Unjoined>(&ended)) {
    take_judgement(verdict_, unjoined->judged);
    verdict_.stage = Stage::replay;
    verdict_.error_class = ErrorClass::live_replay_mismatch;
    verdict_.error = fmt::format(
        "{} operations run on a stream that the caller's stream never waits for, and the result needs them: "
        "whoever reads it may come too early ({})",
        unjoined->operations, to_plain_text(unjoined->judged.error));
  }
  if (const auto* broken = std::get_if<BrokenReplay>(&ended)) {
    forget_times("a replay broke while it was timed");
    blame_infrastructure(
        verdict_, Stage::time,
        Error{"a replay that was right before broke while it was timed: " + broken->why, ""});
  }
  return Step::ended;
}

void Attempt::record_launches() {
  verdict_.launches.emplace();
  for (const auto& from : returned_.launches) {
    Launch launch;
    launch.name = to_plain_text(from->name);
    launch.whose = "candidate";
    if (!from->cubin_sha256.empty()) launch.cubin_sha256 = from->cubin_sha256;
    launch.grid = from->grid;
    if (from->num_warps > 0) launch.block = {std::uint64_t{from->num_warps} * 32, 1, 1};
    if (from->registers >= 0) launch.registers = from->registers;
    if (from->spills >= 0) launch.spills = from->spills;
    if (from->shared_bytes >= 0) launch.shared_bytes = from->shared_bytes;
    if (from->ms >= 0 && settings_.device == Device::cuda) launch.time_ms = from->ms;
    verdict_.launches->push_back(std::move(launch));
  }
}

void Attempt::count() {
  std::optional<CountsReason> reason;
  if (!oracle_.facts().proves_nothing.empty()) {
    reason = CountsReason::proves_nothing;
    verdict_.comparison->findings.push_back("an empty answer passes this task: " +
                                            oracle_.facts().proves_nothing);
  } else if (oracle_.facts().reference_random) {
    reason = CountsReason::nondeterministic;
  } else if ((verdict_.trust == Trust::replay ? own_launches_ == 0 : launches_seen_ == 0 && !native_code_)) {
    reason = CountsReason::library_only;
  } else if (decoy_) {
    reason = CountsReason::decoy;
  }
  verdict_.counts = !reason.has_value();
  verdict_.counts_reason = reason;
}

void Attempt::finish_correct() {
  verdict_.status = Status::correct;
  verdict_.stage = Stage::done;
  verdict_.fault.reset();
  verdict_.error.reset();
  verdict_.error_class.reset();
  verdict_.error_detail.reset();
  verdict_.comparison->first_mismatch.reset();
  count();
}

}  // namespace kw::verify
