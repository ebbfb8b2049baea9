#include "verify/workers/fork_server.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/core/files.h"
#include "base/core/text.h"
#include "base/process/child.h"

namespace kw::engine {
namespace {

std::string joined(const std::vector<std::filesystem::path>& paths) {
  std::string text;
  for (const auto& path : paths) text += (text.empty() ? "" : ":") + path.string();
  return text;
}

// Only the variables that Python, CUDA and Triton need, by name: a worker inherits no secrets.
std::vector<std::string> environment(const ForkServer::Options& options) {
  std::vector<std::string> result{
      "PYTHONPATH=" + joined(options.installation.python_path),
      "KERNELWRIGHT_NATIVE=" + options.installation.native.string(),
      "PYTHONDONTWRITEBYTECODE=1",
      "HOME=/tmp",
      "LC_ALL=C.UTF-8",
      // Huge pages make the fork of a process that holds PyTorch a third cheaper.
      "GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
  };
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "TZ"})
    if (const char* value = std::getenv(name)) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<std::string> arguments(const ForkServer::Options& options) {
  if (options.mode == ServerMode::replayer) return {options.installation.replayer.string(), "--control", "3"};
  std::vector<std::string> words{options.python.path.string(),
                                 "-s",
                                 "-P",
                                 "-m",
                                 "kernelwright._engine.forkserver",
                                 "--mode",
                                 std::string(to_string(options.mode)),
                                 "--control",
                                 "3"};
  if (options.high_heap) words.emplace_back("--high-heap");
  return words;
}

// Size of the address space in bytes: the first number of statm counts pages.
std::uint64_t mapped_bytes(pid_t pid) {
  auto statm = read_file(fmt::format("/proc/{}/statm", pid));
  if (!statm) return 0;
  return std::strtoull(statm->c_str(), nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// The parent's number from /proc/PID/stat; 0 if there is no such process.
pid_t parent_of(pid_t pid) {
  auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return 0;
  char state = 0;
  int parent = 0;
  const auto name_ends = stat->rfind(')');
  if (name_ends == std::string::npos ||
      std::sscanf(stat->c_str() + name_ends, ") %c %d", &state, &parent) != 2)
    return 0;
  return parent;
}

async::Task<> note_end(process::ExitWatch watch, std::shared_ptr<bool> alive) {
  co_await watch.wait();
  *alive = false;
}

async::Task<> reap(process::ExitWatch watch) {
  co_await watch.wait();
}

// The processes that a mode's server forks, in the words of the timeline's reader.
std::string_view row_group(ServerMode mode) {
  switch (mode) {
    case ServerMode::oracle:
      return "oracles";
    case ServerMode::cuda:
      return "runners";
    case ServerMode::compile:
      return "runners: compile";
    case ServerMode::interpret:
      return "runners: interpret";
    case ServerMode::replayer:
      return "replayers";
    case ServerMode::broker:
      return "brokers";
    case ServerMode::zygote:
      break;
  }
  return "processes";
}

// Why a server ended before it was ready. The last line of a traceback is its error.
std::string why_not_started(const std::string& output) {
  const std::string_view text = trim(output);
  if (text.empty()) return "it ended without a word";
  return to_plain_text(text.contains("Traceback (most recent call last)") ? text.substr(text.rfind('\n') + 1)
                                                                          : text);
}

std::uint32_t next_slot() {
  static std::atomic<std::uint32_t> slot{0};
  return slot++;
}

}  // namespace

ForkServer::ForkServer(async::Loop& loop, Options options, process::Channel control,
                       std::shared_ptr<process::OutputTail> output)
    : loop_(loop), options_(std::move(options)), control_(std::move(control)), output_(std::move(output)) {}

ForkServer::~ForkServer() {
  if (watch_) watch_->kill(SIGKILL);
}

async::Task<Result<std::shared_ptr<ForkServer>>> ForkServer::start(async::Loop& loop, Options options,
                                                                   async::Deadline deadline) {
  auto channel = process::Channel::open(loop);
  if (!channel) co_return std::unexpected(channel.error());
  auto output = process::OutputTail::open(loop);
  if (!output) co_return std::unexpected(output.error());
  if (options.zygote) {
    wire::ServeT request;
    request.mode = to_string(options.mode);
    std::vector<int> fds{channel->second.get(), output->second.get()};
    ForkServer& zygote = *options.zygote;
    if (auto sent = co_await zygote.control_.send(wire::encode(std::move(request)), fds); !sent) {
      *zygote.alive_ = false;
      co_return fail("the zygote is gone: " + zygote.output_->text());
    }
    channel->second.reset();
    output->second.reset();
    co_return co_await attach(loop, std::move(options), {std::move(channel->first), std::move(output->first)},
                              deadline);
  }
  process::Command command;
  command.arguments = arguments(options);
  command.environment = environment(options);
  command.inherited = channel->second.get();
  command.output = output->second.get();
  auto child = process::Child::start(command);
  if (!child) co_return fail(child.error().what, "name a python that has torch and triton with --python");
  channel->second.reset();
  output->second.reset();
  auto server =
      co_await attach(loop, std::move(options),
                      {std::move(channel->first), std::move(output->first), child->pid()}, deadline);
  // The loop does not wait for the end of a process that did not start.
  if (!server) child->kill(SIGKILL);
  const pid_t pid = child->pid();
  child->release();
  if (!server)
    if (auto end = process::ExitWatch::of(loop, pid)) async::spawn(loop, reap(std::move(*end)));
  co_return server;
}

async::Task<Result<std::shared_ptr<ForkServer>>> ForkServer::attach(async::Loop& loop, Options options,
                                                                    Running running,
                                                                    async::Deadline deadline) {
  std::shared_ptr<ForkServer> server(
      new ForkServer(loop, std::move(options), std::move(running.control), std::move(running.output)));
  pid_t pid = running.pid;
  if (pid != 0)
    if (auto watched = server->watch(pid); !watched) co_return std::unexpected(watched.error());
  if (auto ready = co_await server->wait_until_ready(deadline); !ready)
    co_return std::unexpected(ready.error());
  if (pid == 0) {
    // The server is killed by this number, so the number must not be that of a foreign process.
    pid = static_cast<pid_t>(server->versions_.pid);
    const auto zygote = static_cast<pid_t>(server->options_.zygote->versions_.pid);
    if (pid <= 1 || zygote <= 1 || parent_of(pid) != zygote)
      co_return fail(fmt::format("process {}, which says that it is the {} fork server, is not the zygote's",
                                 pid, to_string(server->options_.mode)));
    if (auto watched = server->watch(pid); !watched) co_return std::unexpected(watched.error());
  }
  server->mapped_bytes_ = mapped_bytes(pid);
  if (auto end = process::ExitWatch::of(loop, pid))
    async::spawn(loop, note_end(std::move(*end), server->alive_));
  co_return server;
}

Result<> ForkServer::watch(pid_t pid) {
  auto watch = process::ExitWatch::of(loop_, pid);
  if (!watch) return std::unexpected(watch.error());
  watch_.emplace(std::move(*watch));
  return {};
}

async::Task<Result<>> ForkServer::wait_until_ready(async::Deadline deadline) {
  auto waited = co_await async::within(deadline, options_.stop, control_.receive());
  if (!waited.value)
    co_return fail(fmt::format("the {} fork server was not ready in time", to_string(options_.mode)));
  std::string remedy =
      options_.mode == ServerMode::replayer
          ? "`kernelwright doctor` says what this machine lacks"
          : fmt::format("`kernelwright doctor --python {}` says what it lacks; --python names another",
                        arguments(options_).front());
  if (!*waited.value) {
    *alive_ = false;
    co_await async::sleep_until(async::Deadline::in(std::chrono::milliseconds(100)));  // for its output
    co_return fail(fmt::format("{} does not start as the {} fork server: {}", arguments(options_).front(),
                               to_string(options_.mode), why_not_started(output_->text())),
                   remedy);
  }
  auto body = wire::decode((*waited.value)->bytes);
  if (!body || body->AsReady() == nullptr) co_return fail("the fork server sent a foreign message", remedy);
  versions_ = *body->AsReady();
  co_return Result<>{};
}

async::Task<Result<std::unique_ptr<Worker>>> ForkServer::spawn(SpawnRequest request,
                                                               async::Deadline deadline) {
  const auto since = async::SteadyClock::now();
  auto channel = process::Channel::open(loop_);
  auto status = process::Channel::open(loop_);
  auto output = process::OutputTail::open(loop_);
  if (!channel || !status || !output)
    co_return fail("out of descriptors", "raise the limit: ulimit -n 65536");
  request.unconfined = options_.unconfined;
  // CUDA reserves far more addresses than it uses, so the address space is limited without a GPU only.
  request.mapped_bytes = options_.mode == ServerMode::cuda || request.device >= 0 ? 0 : mapped_bytes_;
  for (const auto& path : options_.installation.python_path) request.readable.push_back(path.string());
  request.readable.push_back(options_.installation.native.string());
  wire::SpawnT message = to_message(request, next_slot());
  std::string cgroup = message.cgroup;
  std::uint64_t memory_bytes = message.memory_bytes;
  std::vector<int> fds{channel->second.get(), output->second.get(), output->second.get(),
                       status->second.get()};
  if (auto sent = co_await control_.send(wire::encode(std::move(message)), fds); !sent) {
    *alive_ = false;
    co_return fail(fmt::format("the {} fork server is gone: {}", to_string(options_.mode), output_->text()));
  }
  channel->second.reset();
  status->second.reset();
  output->second.reset();
  auto worker = std::make_unique<Worker>(
      loop_, Worker::Parts{std::move(channel->first), std::move(status->first), std::move(output->first),
                           std::move(cgroup), memory_bytes, options_.stop,
                           Timeline::row(options_.timeline, row_group(options_.mode))});
  if (auto confined = co_await worker->confined(deadline); !confined)
    co_return std::unexpected(confined.error());
  worker->row().add("start", since, {{"pid", worker->init()}});
  co_return worker;
}

using namespace std::chrono_literals;

SpawnRequest SpareWorkers::request() const {
  SpawnRequest request;
  request.role = options_.role;
  request.device = options_.device;
  request.limits = options_.limits;
  request.environment = options_.environment;
  return request;
}

async::Task<Result<std::unique_ptr<Worker>>> SpareWorkers::fork(async::Deadline deadline) {
  std::shared_ptr<ForkServer> server = server_;
  co_return co_await server->spawn(request(), deadline);
}

async::Task<Result<std::unique_ptr<Worker>>> SpareWorkers::take_under(const Tool& tool,
                                                                      async::Deadline deadline) {
  std::shared_ptr<ForkServer> server = server_;
  const std::filesystem::path& replayer = server->options().installation.replayer;
  SpawnRequest wanted = request();
  wanted.tool = tool.words;
  wanted.tool.push_back(replayer.string());
  wanted.readable = tool.readable;
  wanted.readable.push_back(replayer.string());
  co_return co_await server->spawn(std::move(wanted), deadline);
}

async::Task<Result<std::unique_ptr<Worker>>> SpareWorkers::take(async::Deadline deadline) {
  while (!ready_.empty()) {
    std::unique_ptr<Worker> worker = std::move(ready_.front().worker);
    ready_.pop_front();
    refill();
    if (worker->alive()) co_return worker;
  }
  refill();
  co_return co_await fork(deadline);
}

void SpareWorkers::refill() {
  if (options_.count == 0) return;
  // The count bounds the loop: a fork that fails at once returns its place before spawn() returns.
  for (std::size_t left = options_.count; left > 0 && !ended_; --left) {
    auto place = places_.try_take();
    if (!place) return;
    // If the fork fails or throws there is no spare: the next take() forks one itself and returns the error.
    async::spawn(loop_, add_one(std::move(*place)), [](const std::exception_ptr&) {});
  }
}

async::Task<> SpareWorkers::add_one(async::Semaphore::Place place) {
  auto worker = co_await fork(async::Deadline::in(30s));
  if (worker && !ended_) ready_.push_back({std::move(place), std::move(*worker)});
}

async::Task<> SpareWorkers::end() {
  ended_ = true;
  for (Spare& spare : ready_) spare.worker->kill();
  for (Spare& spare : ready_) co_await spare.worker->end();
  ready_.clear();
  // When all places are taken here, no fork is under way.
  std::vector<async::Semaphore::Place> all;
  while (all.size() < options_.count) all.push_back(co_await places_.take());
}

}  // namespace kw::engine
