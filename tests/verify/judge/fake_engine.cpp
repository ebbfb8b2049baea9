#include "fake_engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmath>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstring>

#include "base/process/child.h"
#include "sandbox.h"

namespace kw::test {

using wire::Body;

namespace {

// A process to kill in place of a worker's.
pid_t sleeping_process() {
  auto child = process::Child::start({.arguments = {"/bin/sleep", "120"}});
  const pid_t pid = child.value().pid();
  child->release();
  return pid;
}

template <typename Message>
wire::BodyUnion body(Message message) {
  wire::BodyUnion result;
  result.Set(std::move(message));
  return result;
}

std::unique_ptr<wire::ValueT> output_tensor() {
  auto value = std::make_unique<wire::ValueT>();
  value->kind = wire::ValueKind::tensor;
  value->tensor = std::make_unique<wire::TensorT>();
  value->tensor->dtype = "float32";
  value->tensor->shape = {16};
  value->tensor->stride = {1};
  value->tensor->offset = 0x7000'0000;
  value->tensor->bytes = 64;
  value->tensor->device = "cuda";
  return value;
}

std::unique_ptr<wire::LaunchT> launch(const std::string& name, const std::string& cubin) {
  auto made = std::make_unique<wire::LaunchT>();
  made->name = name;
  made->cubin_sha256 = cubin;
  made->grid = {1, 1, 1};
  made->block = {128, 1, 1};
  made->programs = 1;
  made->num_warps = 4;
  made->registers = 16;
  made->spills = 0;
  made->shared_bytes = 0;
  return made;
}

constexpr double reference_ms = 0.16;  // of a call in the oracle

wire::ReturnedT returned() {
  wire::ReturnedT answer;
  answer.outputs = output_tensor();
  answer.launches.push_back(launch("add", "c0ffee"));
  answer.launch_count = 1;
  answer.program_count = 1;
  answer.ms = 0.05;
  return answer;
}

wire::ReplayableT replayable(bool of_reference) {
  wire::ReplayableT answer;
  answer.launches.push_back(of_reference ? launch("at6native_add", "11b") : launch("add", "c0ffee"));
  answer.launch_count = 1;
  answer.operations = 1;
  answer.streams = 1;
  answer.compute_capability = fake_capability;
  return answer;
}

wire::ReplayedT replayed(const wire::ReplayT& how) {
  wire::ReplayedT answer;
  answer.device_ms = 0.08 * how.repeats;
  answer.floor_ms = 0.002;
  answer.gated = true;
  answer.downloads_equal = true;
  if (how.each_launch) answer.launch_ms = {0.08};
  if (how.split) answer.forward_ms = 0.03;
  if (how.split) answer.backward_ms = 0.05;
  return answer;
}

wire::JudgedT judged(bool right) {
  wire::JudgedT answer;
  answer.right = right;
  answer.rtol = 1e-4;
  answer.atol = 1e-4;
  if (right) return answer;
  answer.error_class = "wrong_value";
  answer.error = "values differ";
  answer.max_abs_error = 1;
  return answer;
}

std::vector<Fd> files(std::initializer_list<std::string_view> contents) {
  std::vector<Fd> made;
  for (std::string_view each : contents) made.push_back(memory_file("fake", each).value());
  return made;
}

}  // namespace

React replays(std::function<void(const wire::ReplayT& how, wire::ReplayedT& facts)> change) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    if (usual.answer.type == Body::Replayed) change(*asked.AsReplay(), *usual.answer.AsReplayed());
  };
}

React each_takes(double ms) {
  return replays([=](const wire::ReplayT& how, wire::ReplayedT& facts) {
    facts.device_ms = ms * how.repeats;
    facts.host_ms = facts.device_ms;
  });
}

React fails(std::string stage, std::string error_class, std::string error) {
  return [=](const wire::BodyUnion&, Reaction& usual) {
    wire::FailedT failed;
    failed.stage = stage;
    failed.error_class = error_class;
    failed.error = error;
    usual.answer = body(std::move(failed));
    usual.fds.clear();
  };
}

React ends(Ending ending) {
  return [=](const wire::BodyUnion&, Reaction& usual) { usual.ending = ending; };
}

React prints(std::string text) {
  return [text = std::move(text)](const wire::BodyUnion&, Reaction& usual) { usual.prints = text; };
}

React dies(int signal, bool in_launch) {
  return [=](const wire::BodyUnion&, Reaction& usual) {
    usual.ending = Ending::dies;
    usual.wait_status = signal;  // the status that waitpid gives for a process that a signal ended
    usual.in_launch = in_launch;
  };
}

React waits(std::chrono::milliseconds delay) {
  return [=](const wire::BodyUnion&, Reaction& usual) { usual.delay = delay; };
}

React all(std::vector<React> reactions) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    for (const React& each : reactions) each(asked, usual);
  };
}

React judges_wrong() {
  return [](const wire::BodyUnion&, Reaction& usual) { usual.answer = body(judged(false)); };
}

struct FakeEngine::Server {
  process::Channel control;
  Fd output;
  pid_t pid;
};

struct FakeEngine::Worker {
  std::string role;
  std::string name;  // with its number
  process::Channel channel;
  process::Channel status;
  Fd output;
  pid_t pid;
  Fd page;                          // a runner's, of its progress
  bool reference = false;           // a runner's: whether it loaded a reference
  bool compiles = false;            // a runner's: its launches do nothing
  std::vector<bool> of_references;  // a replayer's: whether each of its recordings is a reference's
};

FakeEngine::~FakeEngine() {
  for (auto& [mode, server] : servers_) ::kill(server->pid, SIGKILL);
}

void FakeEngine::kill(engine::ServerMode mode) {
  ::kill(servers_.at(mode)->pid, SIGKILL);
}

void FakeEngine::when(std::string role, Body message, React react, int nth) {
  rules_.push_back({std::move(role), message, nth, std::move(react)});
}

int FakeEngine::count(const std::string& role, Body message) const {
  auto found = counts_.find({role, message});
  return found == counts_.end() ? 0 : found->second;
}

async::Task<std::shared_ptr<engine::ForkServer>> FakeEngine::start(engine::ServerMode mode,
                                                                   async::Stop& stop) {
  auto control = process::Channel::open(loop_).value();
  auto output = process::OutputTail::open(loop_).value();
  const pid_t pid = sleeping_process();
  auto server = std::make_shared<Server>(process::Channel(loop_, std::move(control.second)),
                                         std::move(output.second), pid);
  servers_[mode] = server;
  co_await server->control.send(wire::encode(wire::ReadyT{}), {});
  boost::asio::co_spawn(loop_, spawn_workers(server), boost::asio::detached);
  engine::ForkServer::Options options;
  options.mode = mode;
  options.stop = &stop;
  auto started = co_await engine::ForkServer::attach(loop_, std::move(options),
                                                     {std::move(control.first), std::move(output.first), pid},
                                                     async::Deadline::in(std::chrono::seconds(10)));
  co_return std::move(started.value());
}

async::Task<> FakeEngine::spawn_workers(std::shared_ptr<Server> server) {
  while (auto packet = co_await server->control.receive()) {
    auto asked = wire::decode(packet->bytes).value();
    const wire::SpawnT& spawn = *asked.AsSpawn();
    std::string role = spawn.role;
    for (const std::string& variable : spawn.environment)
      if (variable.starts_with("KIND=")) role = variable.substr(5) + " " + role;
    if (!spawn.tool.empty()) role = spawn.tool.at(2);
    std::string name = fmt::format("{} {}", role, numbers_[role]++);
    process::Channel status(loop_, std::move(packet->fds[3]));
    const Reaction reaction = reaction_to(role, name, asked, {});
    if (reaction.ending != Ending::answers) continue;  // the sandbox did not start
    auto worker = std::make_shared<Worker>(role, name, process::Channel(loop_, std::move(packet->fds[0])),
                                           std::move(status), std::move(packet->fds[1]), sleeping_process());
    Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, worker->pid, 0)));
    kw_spawned spawned{};
    spawned.type = KW_SPAWNED;
    spawned.init_pid = worker->pid;
    spawned.applied = KW_LAYER_UID | KW_LAYER_CGROUP_MEMORY | KW_LAYER_SECCOMP;
    co_await worker->status.send(std::string(reinterpret_cast<const char*>(&spawned), sizeof spawned),
                                 {pidfd.get()});
    boost::asio::co_spawn(loop_, serve(std::move(worker)), boost::asio::detached);
  }
  server->output.reset();
}

async::Task<> FakeEngine::serve(std::shared_ptr<Worker> worker) {
  ++living_;
  bool goes_on = true;
  while (goes_on) {
    auto packet = co_await worker->channel.receive();
    if (!packet) break;
    auto asked = wire::decode(packet->bytes).value();
    Reaction expected = usual(*worker, asked, packet->fds);
    goes_on = co_await react(*worker, reaction_to(worker->role, worker->name, asked, std::move(expected)));
  }
  --living_;
}

Reaction FakeEngine::reaction_to(const std::string& role, const std::string& name,
                                 const wire::BodyUnion& asked, Reaction usual) {
  if (asked.type == Body::Judge && asked.AsJudge()->zeros) return usual;  // no rule means these
  if (asked.type != Body::Forget)
    asked_.push_back(fmt::format("{} {}", name, wire::EnumNameBody(asked.type)));
  const int number = counts_[{role, asked.type}]++;
  for (const Rule& rule : rules_)
    if (rule.role == role && rule.message == asked.type && (rule.nth < 0 || rule.nth == number))
      rule.react(asked, usual);
  return usual;
}

// Whether it waits for another message.
async::Task<bool> FakeEngine::react(Worker& worker, Reaction reaction) {
  if (reaction.delay.count() > 0) co_await async::sleep_until(async::Deadline::in(reaction.delay));
  if (worker.page && reaction.in_launch) {
    const std::array<std::uint64_t, 2> words{1, 1};
    if (::pwrite(worker.page.get(), words.data(), sizeof words, 0) < 0) co_return false;
  }
  if (!reaction.prints.empty() &&
      ::write(worker.output.get(), reaction.prints.data(), reaction.prints.size()) < 0)
    co_return false;
  switch (reaction.ending) {
    case Ending::answers:
      break;
    case Ending::hangs:
      co_return true;
    case Ending::garbles:
      co_await worker.channel.send("no message", {});
      co_return true;
    case Ending::closes:
      // Its process continues, as that of a candidate that closes all open descriptors.
      worker.status.close();
      worker.channel.close();
      co_return false;
    case Ending::dies: {
      kw_exited exited{};
      exited.type = KW_EXITED;
      exited.wait_status = reaction.wait_status;
      co_await worker.status.send(std::string(reinterpret_cast<const char*>(&exited), sizeof exited), {});
      ::kill(worker.pid, SIGKILL);
      co_return false;
    }
  }
  std::vector<int> fds;
  for (const Fd& each : reaction.fds) fds.push_back(each.get());
  co_await worker.channel.send(reaction.packet.empty() ? wire::encode_body(reaction.answer) : reaction.packet,
                               fds);
  co_return true;
}

Reaction FakeEngine::usual(Worker& worker, const wire::BodyUnion& asked, std::vector<Fd>& fds) {
  auto text = [&](std::size_t at) { return read_memory_file(fds.at(at), 1 << 20).value_or(""); };
  switch (asked.type) {
    case Body::Prepare:
      return {body(wire::PreparedT{}), files({wire::encode(spec)})};
    case Body::Forget:  // the first message to an oracle
      return {body(wire::ForgetT{}), {}};
    case Body::Draw:
      if (asked.AsDraw()->mapped) return {body(wire::DrawnT{}), {}};
      return {body(wire::DrawnT{}), files({"arena"})};
    case Body::Judge:
      if (asked.AsJudge()->zeros) return {body(judged(zeros_are_right)), {}};
      return {body(judged(!std::exchange(launches_skipped_, false))), {}};
    case Body::Certify:
      return {body(wire::CertifiedT{}), {}};
    case Body::TimeReference: {
      const wire::TimeReferenceT& request = *asked.AsTimeReference();
      wire::TimedT answer;
      answer.samples_ms.assign(request.calls, reference_ms);
      answer.call_ms = 0.4;
      Reaction reaction{body(std::move(answer)), {}};
      reaction.delay =
          std::chrono::milliseconds(1 + std::lround(reference_ms * (request.warmup + request.calls)));
      return reaction;
    }
    case Body::Open:
      worker.page = std::move(fds.at(1));
      worker.compiles = asked.AsOpen()->mode == wire::Mode::compile;
      return {body(wire::OpenedT{}), {}};
    case Body::Load: {
      worker.reference = asked.AsLoad()->reference;
      wire::LoadedT answer;
      answer.entry = "ModelNew";
      answer.convention = "module";
      answer.weights = "none";
      return {body(std::move(answer)), {}};
    }
    case Body::Call: {
      launches_skipped_ = asked.AsCall()->effect == wire::Effect::skipped ||
                          asked.AsCall()->effect == wire::Effect::spoilt || worker.compiles;
      wire::ReturnedT answer = returned();
      if (asked.AsCall()->timed) answer.device_ms = 0.08;
      return {body(std::move(answer)), {}};
    }
    case Body::Record: {
      wire::RecordedT answer;
      answer.returned = std::make_unique<wire::ReturnedT>(returned());
      answer.outputs = output_tensor();
      return {body(std::move(answer)), files({worker.reference ? "reference" : "candidate", "kernels"})};
    }
    case Body::TimeCandidate: {
      wire::TimedT answer;
      answer.call_ms = 0.2;
      return {body(std::move(answer)), {}};
    }
    case Body::LoadRecording: {
      const std::size_t slot = asked.AsLoadRecording()->slot;
      worker.of_references.resize(slot);
      worker.of_references.push_back(text(0) == "reference");
      return {body(replayable(worker.of_references.back())), {}};
    }
    case Body::Replay: {
      const wire::ReplayT& how = *asked.AsReplay();
      launches_skipped_ = !how.skip.empty();
      wire::ReplayedT answer = replayed(how);
      if (worker.of_references.at(how.slot))
        for (double* ms : {&answer.device_ms, &answer.forward_ms, &answer.backward_ms}) *ms *= 2;
      answer.host_ms = answer.device_ms;
      return {body(std::move(answer)), {}};
    }
    case Body::Conclude:
      return {body(wire::ConcludedT{}), files({worker.role == "memcheck" ? memcheck_text : racecheck_text})};
    case Body::Attest: {
      wire::AttestedT answer;
      answer.sha256 = {"c0ffee"};
      return {body(std::move(answer)), {}};
    }
    default:
      ADD_FAILURE() << "nobody answers " << wire::EnumNameBody(asked.type);
      return {};
  }
}

}  // namespace kw::test
