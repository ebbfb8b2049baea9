#include "engine/fork_server.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "async/spawn.h"
#include "async/within.h"
#include "base/files.h"
#include "process/child.h"

namespace kw::engine {
namespace {

std::string joined(const std::vector<std::filesystem::path>& paths) {
  std::string text;
  for (const auto& path : paths) text += (text.empty() ? "" : ":") + path.string();
  return text;
}

// No secrets of ours reach a worker: only what Python, CUDA and Triton need, by name.
std::vector<std::string> environment(const ForkServer::Options& options) {
  std::vector<std::string> result{
      "PYTHONPATH=" + joined(options.installation.python_path),
      "KERNELWRIGHT_NATIVE=" + options.installation.native.string(),
      "PYTHONDONTWRITEBYTECODE=1",
      "HOME=/tmp",
      "LC_ALL=C.UTF-8",
      // Larger pages make the fork of a process that holds PyTorch a third cheaper.
      "GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
  };
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "TZ"})
    if (const char* value = std::getenv(name)) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<std::string> arguments(const ForkServer::Options& options) {
  if (options.mode == ServerMode::replayer) return {options.installation.replayer.string(), "--control", "3"};
  return {options.python.path.string(), "-s",        "-P", "-m", "kernelwright.forkserver", "--mode",
          to_string(options.mode),      "--control", "3"};
}

// Size of the address space in bytes: the first number of statm counts pages.
std::uint64_t mapped_bytes(pid_t pid) {
  auto statm = read_file(fmt::format("/proc/{}/statm", pid));
  if (!statm) return 0;
  return std::strtoull(statm->c_str(), nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

async::Task<> note_end(process::ExitWatch watch, std::shared_ptr<bool> alive) {
  co_await watch.wait();
  *alive = false;
}

async::Task<> reap(process::ExitWatch watch) {
  co_await watch.wait();
}

std::uint32_t next_slot() {
  static std::atomic<std::uint32_t> slot{0};
  return slot++;
}

}  // namespace

const char* to_string(ServerMode mode) {
  switch (mode) {
    case ServerMode::oracle:
      return "oracle";
    case ServerMode::compile:
      return "compile";
    case ServerMode::interpret:
      return "interpret";
    case ServerMode::cuda:
      return "cuda";
    case ServerMode::broker:
      return "broker";
    case ServerMode::replayer:
      return "replayer";
  }
  return "?";
}

ForkServer::ForkServer(async::Loop& loop, Options options, process::Channel control,
                       std::shared_ptr<process::OutputTail> output, process::ExitWatch watch)
    : loop_(loop),
      options_(std::move(options)),
      control_(std::move(control)),
      output_(std::move(output)),
      watch_(std::move(watch)) {}

ForkServer::~ForkServer() {
  watch_.kill(SIGKILL);
}

async::Task<Result<std::shared_ptr<ForkServer>>> ForkServer::start(async::Loop& loop, Options options,
                                                                   async::Deadline deadline) {
  auto channel = process::Channel::open(loop);
  if (!channel) co_return std::unexpected(channel.error());
  auto output = process::OutputTail::open(loop);
  if (!output) co_return std::unexpected(output.error());
  process::Command command;
  command.arguments = arguments(options);
  command.environment = environment(options);
  command.inherited = channel->second.get();
  command.output = output->second.get();
  auto child = process::Child::start(command);
  if (!child) co_return std::unexpected(child.error());
  channel->second.reset();
  output->second.reset();
  auto server =
      co_await attach(loop, std::move(options),
                      {std::move(channel->first), std::move(output->first), child->pid()}, deadline);
  // The loop does not wait for the end of one that did not start.
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
  const pid_t pid = running.pid;
  auto watch = process::ExitWatch::of(loop, pid);
  if (!watch) co_return std::unexpected(watch.error());
  std::shared_ptr<ForkServer> server(new ForkServer(loop, std::move(options), std::move(running.control),
                                                    std::move(running.output), std::move(*watch)));
  if (auto ready = co_await server->wait_until_ready(deadline); !ready)
    co_return std::unexpected(ready.error());
  server->mapped_bytes_ = mapped_bytes(pid);
  if (auto end = process::ExitWatch::of(loop, pid))
    async::spawn(loop, note_end(std::move(*end), server->alive_));
  co_return server;
}

async::Task<Result<>> ForkServer::wait_until_ready(async::Deadline deadline) {
  auto waited = co_await async::within(deadline, options_.stop, control_.receive());
  if (!waited.value)
    co_return fail(fmt::format("the {} fork server was not ready in time", to_string(options_.mode)));
  std::string remedy = fmt::format("`kernelwright doctor` checks {}", arguments(options_).front());
  if (!*waited.value) {
    *alive_ = false;
    co_await async::sleep_until(async::Deadline::in(std::chrono::milliseconds(100)));  // its last words
    co_return fail(
        fmt::format("the {} fork server did not start: {}", to_string(options_.mode), output_->text()),
        remedy);
  }
  auto body = wire::decode((*waited.value)->bytes);
  if (!body || body->AsReady() == nullptr) co_return fail("the fork server sent a foreign message", remedy);
  versions_ = *body->AsReady();
  co_return Result<>{};
}

async::Task<Result<std::unique_ptr<Worker>>> ForkServer::spawn(SpawnRequest request,
                                                               async::Deadline deadline) {
  auto channel = process::Channel::open(loop_);
  auto status = process::Channel::open(loop_);
  auto output = process::OutputTail::open(loop_);
  if (!channel || !status || !output)
    co_return fail("out of descriptors", "raise the limit: ulimit -n 65536");
  request.unconfined = options_.unconfined;
  // CUDA reserves far more addresses than it uses, so they are limited without a GPU only.
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
                           std::move(cgroup), memory_bytes, options_.stop});
  if (auto confined = co_await worker->confined(deadline); !confined)
    co_return std::unexpected(confined.error());
  co_return worker;
}

}  // namespace kw::engine
