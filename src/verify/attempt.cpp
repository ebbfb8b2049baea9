#include "verify/attempt.h"

#include <fmt/format.h>

#include "base/text.h"
#include "verify/blame.h"
#include "verify/limits.h"
#include "verify/protocol.h"
#include "verify/slots.h"
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

constexpr std::uint32_t certificate_sets = 5;
constexpr std::uint64_t most_kept_arena_bytes = std::uint64_t{256} << 20;  // of a task that is not at hand

}  // namespace

Attempt::Attempt(Context& context, const Job& job, Settings settings, async::Stop& stop)
    : context_(context), job_(job), settings_(std::move(settings)), stop_(stop), device_(context.desk) {
  verdict_.id = job.id;
  verdict_.task_id = job.task.task_id;
  verdict_.sample_number = job.sample_number;
  verdict_.candidate_sha256 = candidate_sha256(job.candidate.code);
  if (!job.candidate.kernel_name.empty()) verdict_.kernel_name = job.candidate.kernel_name;
  verdict_.environment = context.environment;
  verdict_.timing.why_null = "the candidate was not timed";
  // Per task, not per candidate, so that an oracle can keep what it prepared.
  init_seed_ = context.seeds.of(task_content(job.task));
}

Deadline Attempt::own_deadline(std::chrono::milliseconds at_most) const {
  return deadline_.or_in(at_most);
}

// An oracle's work is not the candidate's time.
Deadline Attempt::oracle_deadline(std::chrono::milliseconds at_most) const {
  return Deadline::in(std::min(at_most, settings_.timeout));
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
    step = co_await take_oracle();
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
    if (retire_oracle_ && oracle_) co_await oracle_->end();
    device_.give_back();
    if (oracle_) {
      oracle_->worker().heed(&context_.stop);
      co_await context_.oracles.give_back(std::move(oracle_));
    }
  }
  forgive_at_reduced_shapes(verdict_);
}

async::Task<Step> Attempt::take_oracle() {
  auto oracle = co_await context_.oracles.take(task_key(job_.task, settings_, 0), Deadline::in(spawn_limit));
  if (!oracle) {
    stopped_ = stop_.requested();
    blame_infrastructure(verdict_, Stage::prepare, oracle.error());
    co_return Step::ended;
  }
  oracle_ = std::move(*oracle);
  oracle_->worker().heed(&stop_);
  co_return Step::go_on;
}

async::Task<Step> Attempt::prepare(std::uint64_t max_bytes, std::uint32_t halvings) {
  StageTimer timer(verdict_, Stage::prepare);
  wire::PrepareT request;
  request.task_key = task_key(job_.task, settings_, halvings);
  if (auto kept = std::static_pointer_cast<KeptReference>(oracle_->kept))
    if (kept->key != request.task_key && kept->player->arena_bytes() > most_kept_arena_bytes)
      oracle_->kept.reset();
  request.entry_point = job_.task.entry_point;
  request.input_shapes = job_.task.input_shapes;
  request.precision = settings_.precision;
  request.tf32 = settings_.tf32;
  request.move_weights = settings_.move_weights;
  request.init_seed = init_seed_;
  for (std::uint32_t set = 0; set < certificate_sets; ++set)
    request.certificate_seeds.push_back(
        context_.seeds.of(fmt::format("{}#{}", task_content(job_.task), set)));
  request.tolerance = std::make_unique<wire::ToleranceT>();
  request.tolerance->name = settings_.tolerance.name;
  request.tolerance->rtol = settings_.tolerance.rtol;
  request.tolerance->atol = settings_.tolerance.atol;
  request.max_bytes = max_bytes;
  request.halvings = halvings;
  auto task =
      co_await oracle_->prepare(std::move(request), job_.task.reference_code, oracle_deadline(prepare_limit));
  if (!task) co_return refused_by_oracle(task.error(), Stage::prepare);
  prepared_ = std::move(task->facts);
  call_spec_ = std::move(task->call_spec);
  auto bytes = read_memory_file(call_spec_, std::size_t{64} << 20);
  auto spec = bytes ? wire::decode_call_spec(*bytes) : std::unexpected(bytes.error());
  if (!spec) {
    blame_infrastructure(verdict_, Stage::prepare, spec.error());
    co_return Step::ended;
  }
  spec_ = std::move(*spec);
  halvings_ = halvings;
  verdict_.shapes = prepared_.reduced ? Shapes::reduced : Shapes::given;
  verdict_.comparison.emplace();
  verdict_.comparison->tolerance.name = settings_.tolerance.name;
  verdict_.comparison->findings = prepared_.findings;
  if (prepared_.reduced) verdict_.comparison->findings.push_back("shapes reduced to " + prepared_.sizes);
  co_return Step::go_on;
}

async::Task<Step> Attempt::start_runner(std::shared_ptr<engine::ForkServer> server) {
  engine::SpawnRequest request;
  request.role = engine::Role::runner;
  request.limits = context_.limits;
  forked_by_ = server;
  co_return take_worker(co_await server->spawn(std::move(request), Deadline::in(spawn_limit)));
}

async::Task<Step> Attempt::start_gpu_runner() {
  forked_by_ = context_.servers.cuda;
  co_return take_worker(co_await context_.runners.take(Deadline::in(spawn_limit)));
}

Step Attempt::take_worker(Result<std::unique_ptr<engine::Worker>> worker) {
  auto page = engine::ProgressPage::create();
  if (!worker || !page) {
    stopped_ = stop_.requested();
    blame_infrastructure(verdict_, Stage::import_, !worker ? worker.error() : page.error());
    return Step::ended;
  }
  (*worker)->heed(&stop_);
  std::uint32_t layers = (*worker)->layers();
  auto level = from_string<IsolationLevel>(engine::isolation_level(layers));
  verdict_.isolation = Isolation{level.value_or(IsolationLevel::process), engine::layer_names(layers)};
  runner_ = std::make_unique<engine::Runner>(std::move(*worker), std::move(*page));
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
  auto loaded = co_await runner_->load(std::move(request), job_.candidate.code, call_spec_.get(),
                                       arena_.get(), own_deadline(load_limit));
  if (!loaded) co_return refused_by_candidate(loaded.error(), Stage::import_);
  loaded_ = std::move(*loaded);
  verdict_.call = Call{loaded_.entry, loaded_.convention, loaded_.arguments, loaded_.weights};
  co_return Step::go_on;
}

async::Task<Step> Attempt::draw(std::uint32_t trial) {
  StageTimer timer(verdict_, Stage::prepare);
  trial_seed_ = context_.seeds.next();
  wire::DrawT request;
  request.trial = trial;
  request.seed = trial_seed_;
  request.slot = candidate_slot;
  auto arena = co_await oracle_->draw(std::move(request), oracle_deadline(prepare_limit));
  if (!arena) co_return refused_by_oracle(arena.error(), Stage::prepare);
  arena_ = std::move(*arena);
  co_return Step::go_on;
}

async::Task<Step> Attempt::call(std::uint32_t trial, CallOptions options, std::chrono::milliseconds budget) {
  if (!arena_ && co_await draw(trial) == Step::ended) co_return Step::ended;
  Fd arena = std::exchange(arena_, {});
  StageTimer timer(verdict_, Stage::run);
  wire::CallT request;
  request.trial = trial;
  request.seed = trial_seed_;
  request.budget_ms = static_cast<double>(budget.count());
  request.skip_launches = options.skip_launches;
  request.timed = options.timed;
  request.flush_l2 = options.timed;
  auto returned = co_await runner_->call(std::move(request), arena.get(), own_deadline(budget));
  if (!returned) co_return refused_by_candidate(returned.error(), Stage::run);
  returned_ = std::move(*returned);
  co_return Step::go_on;
}

async::Task<Step> Attempt::judge(std::uint32_t trial) {
  StageTimer timer(verdict_, Stage::judge);
  wire::JudgeT request;
  request.trial = trial;
  request.seed = trial_seed_;
  request.outputs = std::move(returned_.outputs);
  auto judged = co_await oracle_->judge(std::move(request), oracle_deadline(judge_limit));
  if (!judged) co_return refused_by_oracle(judged.error(), Stage::judge);
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
  wire::JudgeT request;
  request.seed = trial_seed_;
  request.outputs = std::move(returned_.outputs);
  request.outputs_only = true;
  auto judged = co_await oracle_->judge(std::move(request), oracle_deadline(judge_limit));
  co_return judged && judged->right;
}

async::Task<> Attempt::end_runner() {
  if (!runner_) co_return;
  co_await runner_->end();
  runner_.reset();
  arena_.reset();
}

Step Attempt::refused_by_candidate(const engine::Refusal& refusal, Stage stage) {
  if (was_stopped(refusal)) {
    stopped_ = true;
    return Step::ended;
  }
  // A runner ends with the process that forked it, which a candidate cannot reach.
  if (refusal.lost && forked_by_ && !forked_by_->alive()) {
    blame_infrastructure(verdict_, stage, Error{"the fork server of its process died", ""});
    return Step::ended;
  }
  blame_candidate(verdict_, refusal, {stage, settings_.device, runner_->in_launch(), runner_->printed()});
  return Step::ended;
}

Step Attempt::refused_by_oracle(const engine::Refusal& refusal, Stage stage) {
  stopped_ = stopped_ || was_stopped(refusal);
  blame_task(verdict_, refusal, stage);
  return Step::ended;
}

Step Attempt::end(const Ended& ended) {
  if (std::holds_alternative<Stopped>(ended)) stopped_ = true;
  if (const auto* ours = std::get_if<OurFault>(&ended))
    blame_infrastructure(verdict_, ours->stage, ours->error);
  if (const auto* oracle = std::get_if<OracleRefusal>(&ended))
    return refused_by_oracle(oracle->refusal, oracle->stage);
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
  if (!prepared_.proves_nothing.empty()) {
    reason = CountsReason::proves_nothing;
    verdict_.comparison->findings.push_back("an empty answer passes this task: " + prepared_.proves_nothing);
  } else if (prepared_.reference_random) {
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
