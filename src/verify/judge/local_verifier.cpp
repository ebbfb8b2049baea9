#include "verify/judge/local_verifier.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <thread>

#include "base/core/crypto.h"
#include "verify/api/shared_verifier.h"
#include "verify/judge/attempt.h"
#include "verify/judge/memory_guard.h"
#include "verify/judge/protocol.h"
#include "verify/judge/replays.h"
#include "verify/judge/statistics.h"
#include "verify/judge/task_examination.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr auto start_limit = 180s;
constexpr const char* certificate_rules = "certificate 1";  // raise it with every change of a mark

// More spares would make contexts for later before the contexts that attempts wait for.
std::size_t spares(std::size_t width) {
  return (width + 2) / 3;
}

// A kept oracle and the replayer of its reference take 1.3 GiB of the device (measured on an H100). A quarter
// of the memory stays free of them, for the tensors of jobs.
std::function<bool()> room_for_oracles(const Gpu* gpu) {
  if (gpu == nullptr) return {};
  return [gpu = *gpu] {
    const auto memory = device_memory(gpu);
    return memory && memory->free_bytes > memory->total_bytes / 4;
  };
}

std::vector<std::string> seeing(const Gpu* gpu) {
  if (gpu == nullptr) return {};
  return {"CUDA_VISIBLE_DEVICES=" + gpu->visible};
}

bool needs_torch(engine::ServerMode mode) {
  using engine::ServerMode;
  return mode != ServerMode::zygote && mode != ServerMode::broker && mode != ServerMode::replayer;
}

// None where nothing measures the device's memory.
std::unique_ptr<MemoryGuard> guard_of(const Gpu* gpu, async::Loop& loop, engine::OraclePool& oracles,
                                      std::size_t jobs) {
  auto memory = gpu == nullptr ? nullptr : memory_reader(*gpu);
  return memory ? std::make_unique<MemoryGuard>(loop, std::move(memory), oracles, jobs) : nullptr;
}

// 0: unknown.
std::uint64_t bytes_of(const Gpu* gpu) {
  const auto memory = gpu == nullptr ? std::nullopt : device_memory(*gpu);
  return memory ? memory->total_bytes : 0;
}

std::size_t cores() {
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

// One device with its oracles and leases.
struct LocalVerifier::Lane {
  Lane(LocalVerifier& of, const Gpu* gpu, std::size_t width, Environment environment)
      : oracles(of.loop_, of.servers_.oracle,
                {.size = width,
                 .has_room = room_for_oracles(gpu),
                 .device = gpu == nullptr ? -1 : gpu->node,
                 .environment = seeing(gpu),
                 .limits = engine::Limits{.memory_bytes = of.options_.settings.memory_bytes * 2},
                 .spares = gpu == nullptr ? 0 : spares(width)}),
        runners(of.loop_, of.servers_.cuda, of.spare_runners(gpu, spares(width), true)),
        plain_runners(of.loop_, of.servers_.cuda, of.spare_runners(gpu, of.audits_at_once(width), false)),
        replayers(of.loop_, of.servers_.replayer, of.spare_replayers(gpu, spares(width))),
        wide_replayers(of.loop_, of.servers_.replayer, of.wide_replayers(gpu)),
        leases(of.loop_, width),
        timing_turns(of.loop_, std::max<std::size_t>(1, width / 4)),
        memory_guard(guard_of(gpu, of.loop_, oracles, width)),
        context{of.loop_,
                of.stop_,
                of.options_.settings,
                of.servers_,
                of.seeds_,
                oracles,
                runners,
                plain_runners,
                replayers,
                wide_replayers,
                leases,
                timing_turns,
                engine::Limits{.memory_bytes = of.options_.settings.memory_bytes},
                tapes,
                clock_floor,
                wait_floor,
                marks_floor,
                of.censuses_,
                memory_guard.get(),
                bytes_of(gpu),
                gpu == nullptr ? -1 : gpu->ordinal,
                of.why_no_replay_,
                of.options_.timeline,
                std::move(environment)} {
    if (gpu != nullptr) context.compute_sanitizer = engine::find_compute_sanitizer().string();
  }

  engine::OraclePool oracles;
  engine::SpareWorkers runners;
  engine::SpareWorkers plain_runners;
  engine::SpareWorkers replayers;
  engine::SpareWorkers wide_replayers;
  ReferenceTapes tapes;
  ClockFloor clock_floor;
  ClockFloor wait_floor;
  ClockFloor marks_floor;
  engine::DeviceLeases leases;
  engine::DeviceLeases timing_turns;
  std::unique_ptr<MemoryGuard> memory_guard;
  Context context;
  std::size_t attempts = 0;  // under way

  // One attempt, until it goes out of scope.
  class Busy {
   public:
    explicit Busy(Lane& lane) : lane_(lane) { ++lane_.attempts; }
    ~Busy() { --lane_.attempts; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Lane& lane_;
  };
};

LocalVerifier::LocalVerifier(async::Loop& loop, async::Stop& stop, Options options)
    : loop_(loop),
      stop_(stop),
      options_(std::move(options)),
      seeds_(random_bytes(32)),
      reviving_(loop, 1),
      censuses_(loop, options_.installation.replayer) {
  if (options_.settings.jobs == 0)
    options_.settings.jobs = options_.gpus.empty() ? cores() : std::min<std::size_t>(12, cores());
}

LocalVerifier::~LocalVerifier() = default;

async::Task<Result<std::unique_ptr<LocalVerifier>>> LocalVerifier::start(async::Loop& loop, async::Stop& stop,
                                                                         Options options) {
  std::unique_ptr<LocalVerifier> verifier(new LocalVerifier(loop, stop, std::move(options)));
  if (auto started = co_await verifier->start_servers(); !started) co_return std::unexpected(started.error());
  verifier->open_lanes();
  co_return verifier;
}

async::Task<Result<>> LocalVerifier::start_server(engine::ServerMode mode,
                                                  std::shared_ptr<engine::ForkServer>* place) {
  if (*place && (*place)->alive()) co_return Result<>{};
  engine::ForkServer::Options options{
      .installation = options_.installation,
      .python = options_.python,
      .mode = mode,
      .zygote = needs_torch(mode) ? zygote_ : nullptr,
      .high_heap = mode == engine::ServerMode::zygote && options_.settings.device == Device::cpu,
      .unconfined = options_.settings.allow_unsandboxed,
      .stop = &stop_,
      .timeline = options_.timeline};
  const auto row = Timeline::row(options_.timeline, "fork servers");
  const Timeline::Span span(row, to_string(mode));
  auto started =
      co_await engine::ForkServer::start(loop_, std::move(options), async::Deadline::in(start_limit));
  if (!started) co_return std::unexpected(started.error());
  *place = std::move(*started);
  co_return Result<>{};
}

async::Task<Result<>> LocalVerifier::start_servers() {
  using namespace boost::asio::experimental::awaitable_operators;
  if (options_.settings.device == Device::cpu) co_return co_await start_python_servers();
  auto [python, replay] = co_await (start_python_servers() && start_replay_servers());
  co_return !python ? python : replay;
}

// The zygote imports PyTorch once and forks the servers that need it.
async::Task<Result<>> LocalVerifier::start_python_servers() {
  using namespace boost::asio::experimental::awaitable_operators;
  using engine::ServerMode;
  if (auto zygote = co_await start_server(ServerMode::zygote, &zygote_); !zygote) co_return zygote;
  if (options_.settings.device == Device::cuda) {
    auto [oracle, cuda] = co_await (start_server(ServerMode::oracle, &servers_.oracle) &&
                                    start_server(ServerMode::cuda, &servers_.cuda));
    co_return !oracle ? oracle : cuda;
  }
  auto [oracle, compile, interpret] = co_await (start_server(ServerMode::oracle, &servers_.oracle) &&
                                                start_server(ServerMode::compile, &servers_.compile) &&
                                                start_server(ServerMode::interpret, &servers_.interpret));
  co_return !oracle ? oracle : !compile ? compile : interpret;
}

// Without these servers, verdicts are in-process ones and state the reason.
async::Task<Result<>> LocalVerifier::start_replay_servers() {
  using namespace boost::asio::experimental::awaitable_operators;
  using engine::ServerMode;
  if (!options_.settings.replay) {
    if (why_no_replay_.empty()) why_no_replay_ = "replays were not asked for";
    co_return Result<>{};
  }
  if (!engine::records(options_.installation)) {
    why_no_replay_ = "this build has no recorder and no replayer";
    options_.settings.replay = false;
    co_return Result<>{};
  }
  auto [replayer, broker] = co_await (start_server(ServerMode::replayer, &servers_.replayer) &&
                                      start_server(ServerMode::broker, &servers_.broker));
  if (!replayer || !broker) {
    why_no_replay_ = !replayer ? replayer.error().what : broker.error().what;
    options_.settings.replay = false;
  }
  co_return Result<>{};
}

engine::SpareWorkers::Options LocalVerifier::spare_runners(const Gpu* gpu, std::size_t count,
                                                           bool recorded) const {
  engine::SpareWorkers::Options spares;
  spares.count = gpu == nullptr ? 0 : count;
  spares.device = gpu == nullptr ? -1 : gpu->node;
  spares.environment = seeing(gpu);
  spares.limits.memory_bytes = options_.settings.memory_bytes;
  if (recorded && options_.settings.replay)
    spares.environment.push_back("KERNELWRIGHT_RECORDER=" + options_.installation.recorder.string());
  return spares;
}

engine::SpareWorkers::Options LocalVerifier::wide_replayers(const Gpu* gpu) const {
  engine::SpareWorkers::Options spares;
  spares.role = engine::Role::replayer;
  spares.device = gpu == nullptr ? -1 : gpu->node;
  spares.environment = seeing(gpu);
  spares.limits.memory_bytes = options_.settings.memory_bytes;
  return spares;
}

// Most calls have one stream, and the driver makes a context with one queue in a third of the time.
engine::SpareWorkers::Options LocalVerifier::spare_replayers(const Gpu* gpu, std::size_t count) const {
  engine::SpareWorkers::Options spares = wide_replayers(gpu);
  spares.count = gpu == nullptr || !options_.settings.replay ? 0 : count;
  spares.environment.push_back("CUDA_DEVICE_MAX_CONNECTIONS=1");
  return spares;
}

// If audits are rare, a spare context for them is wasted.
std::size_t LocalVerifier::audits_at_once(std::size_t width) const {
  const bool rare = options_.settings.audit < 0.5 && options_.settings.audit_calls == 0;
  return options_.settings.replay && !rare ? width : 0;
}

// Replaces fork servers that died (for example when the host ran out of memory), once for all waiting
// attempts.
async::Task<> LocalVerifier::revive_servers(async::Stop& stop) {
  if (auto turn = co_await reviving_.take(stop)) (void)co_await start_servers();
}

void LocalVerifier::open_lanes() {
  const wire::ReadyT& versions = servers_.oracle->versions();
  protocol_ = protocol_with({});
  Environment environment;
  environment.torch = versions.torch;
  environment.triton = versions.triton;
  environment.program_version = options_.program_version;
  environment.protocol = protocol_;
  if (options_.gpus.empty()) {
    lanes_.push_back(std::make_unique<Lane>(*this, nullptr, options_.settings.jobs, environment));
    return;
  }
  environment.driver = driver_version();
  if (!versions.cuda.empty()) environment.cuda = versions.cuda;
  for (const Gpu& each : options_.gpus) {
    environment.gpu = each.name;
    lanes_.push_back(std::make_unique<Lane>(*this, &each, options_.settings.jobs, environment));
  }
}

std::string LocalVerifier::protocol_with(const JobOptions& options) const {
  std::string gpu = options_.gpus.empty() ? "" : options_.gpus.front().name;
  return protocol_hash(with_options(options_.settings, options), servers_.oracle->versions(), gpu);
}

LocalVerifier::Lane& LocalVerifier::least_busy() {
  return **std::ranges::min_element(lanes_, {}, [](const auto& lane) { return lane->attempts; });
}

std::size_t LocalVerifier::width() const {
  // On a GPU as many jobs again are prepared, so that no share is idle while results are written.
  return lanes_.size() * (options_.gpus.empty() ? options_.settings.jobs : options_.settings.jobs * 2);
}

async::Task<std::optional<Verdict>> LocalVerifier::verify(const Job& job, async::Stop& stop) {
  const Settings settings = with_options(options_.settings, job.options);
  std::optional<Verdict> verdict;
  Tries tries;
  for (bool goes_on = true; goes_on;) {
    Lane& lane = least_busy();
    Lane::Busy busy(lane);
    Attempt attempt(lane.context, job, settings, stop, tries.earlier());
    const auto since = Timeline::Clock::now();
    co_await attempt.run();
    attempt.show(since);
    if (attempt.stopped() || stop.requested() || stop_.requested()) co_return std::nullopt;
    const Tries::Result result = attempt.result();
    verdict = std::move(attempt.verdict());
    verdict->environment.protocol = protocol_with(job.options);
    goes_on = tries.goes_on_after(result);
    if (goes_on || verdict->fault == Fault::infrastructure) co_await revive_servers(stop);
  }
  if (!tries.doubt().empty() && verdict->comparison)
    verdict->comparison->findings.push_back("judged again, alone on the device: " + tries.doubt());
  co_return verdict;
}

async::Task<std::optional<TaskCertificate>> LocalVerifier::certify(const Job& task, async::Stop& stop) {
  Lane& lane = least_busy();
  Lane::Busy busy(lane);
  TaskExamination examination(lane.context, task, options_.settings, stop);
  TaskCertificate certificate = co_await examination.run();
  if (stop.requested() || stop_.requested()) co_return std::nullopt;
  if (certificate.fault == Fault::infrastructure) co_await revive_servers(stop);
  certificate.work = certificate_work(task);
  co_return certificate;
}

std::string LocalVerifier::certificate_work(const Job& task) const {
  return work_key(task, protocol_ + certificate_rules);
}

async::Task<> LocalVerifier::end() {
  for (auto& lane : lanes_) {
    co_await lane->runners.end();
    co_await lane->plain_runners.end();
    co_await lane->replayers.end();
    co_await lane->wide_replayers.end();
    co_await lane->oracles.end();
  }
  servers_ = {};
  zygote_.reset();
}

}  // namespace kw::verify
