#include "verify/workers/worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <cstring>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/core/text.h"
#include "base/process/cpu_use.h"
#include "base/process/watch.h"
#include "sandbox.h"

namespace kw::engine {

using namespace std::chrono_literals;
using async::Deadline;

// Shared with the coroutine that watches the process, which may outlive the Worker.
struct Worker::State {
  State(async::Loop& on, process::Channel channel, Timeline::Row of)
      : loop(on), status(std::move(channel)), ended(on), row(std::move(of)) {}

  void kill() {
    if (!killed_at) killed_at = async::SteadyClock::now();
    init->kill(SIGKILL);
  }

  async::Loop& loop;
  process::Channel status;
  std::optional<process::ExitWatch> init;
  std::string cgroup;
  std::uint64_t memory_bytes = 0;
  async::Event ended;
  Timeline::Row row;
  std::optional<async::SteadyClock::time_point> killed_at;
  pid_t init_pid = 0;
  bool over_memory = false;
  std::optional<std::pair<Lost::Why, std::string>> killed_for_memory;
  Exit exit;

  // A request that takes long, and the CPU time of the processes soon after its beginning.
  struct LongRequest {
    async::SteadyClock::time_point since;
    process::CpuUse use;
  };
  std::optional<async::SteadyClock::time_point> asked;  // the request that is under way
  std::optional<LongRequest> long_request;

  bool is_starved() const {
    return long_request && process::is_starved(long_request->use, process::cpu_use(init_pid),
                                               async::ms_since(long_request->since));
  }
};

namespace {

std::optional<kw_exited> as_exited(const process::Packet& packet) {
  kw_exited exited{};
  if (packet.bytes.size() != sizeof exited) return std::nullopt;
  std::memcpy(&exited, packet.bytes.data(), sizeof exited);
  if (exited.type != KW_EXITED) return std::nullopt;
  return exited;
}

Exit to_exit(const kw_exited& exited) {
  Exit exit;
  exit.known = true;
  exit.wait_status = exited.wait_status;
  exit.cpu_ms = static_cast<double>(exited.user_us + exited.system_us) / 1000.0;
  exit.max_rss_bytes = exited.max_rss_kib * 1024;
  return exit;
}

}  // namespace

int Exit::signal() const {
  return known && WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}
int Exit::code() const {
  return known && WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

Worker::Worker(async::Loop& loop, Parts parts)
    : state_(std::make_shared<State>(loop, std::move(parts.status), std::move(parts.row))),
      channel_(std::move(parts.channel)),
      output_(std::move(parts.output)),
      stop_(parts.stop) {
  state_->cgroup = std::move(parts.cgroup);
  state_->memory_bytes = parts.memory_bytes;
}

Worker::~Worker() {
  kill();
}

void Worker::kill() {
  if (state_->init && !state_->ended.is_set()) state_->kill();
}

void Worker::kill_for_memory(Lost::Why why, std::string detail) {
  if (!state_->killed_for_memory) state_->killed_for_memory.emplace(why, std::move(detail));
  kill();
}

const Timeline::Row& Worker::row() const {
  return state_->row;
}

pid_t Worker::init() const {
  return state_->init_pid;
}

bool Worker::alive() const {
  return state_->init && !state_->ended.is_set();
}

async::Task<Result<>> Worker::confined(Deadline deadline) {
  auto waited = co_await async::within(deadline, stop_, state_->status.receive());
  if (!waited.value) co_return fail("the sandbox did not stand in time");
  if (!*waited.value) co_return fail("the fork server lost a child: " + waited.value->error().what);
  kw_spawned spawned{};
  process::Packet& packet = **waited.value;
  if (packet.bytes.size() != sizeof spawned) co_return fail("the sandbox sent a foreign packet");
  std::memcpy(&spawned, packet.bytes.data(), sizeof spawned);
  if (spawned.error != 0)
    co_return fail(fmt::format("the sandbox failed at {}: {}", spawned.step, errno_text(spawned.error)),
                   "`kernelwright doctor` says what this host refuses; --allow-unsandboxed does without");
  if (packet.fds.empty()) co_return fail("the sandbox sent no pidfd", "Linux 5.3 or newer is needed");
  layers_ = spawned.applied;
  state_->init.emplace(state_->loop, std::move(packet.fds.front()));
  state_->init_pid = spawned.init_pid;
  async::spawn(state_->loop, watch(state_));
  async::spawn(state_->loop, watch_long_requests(state_));
  if ((layers_ & KW_LAYER_CGROUP_MEMORY) == 0 && state_->memory_bytes > 0)
    async::spawn(state_->loop, guard_memory(state_));
  co_return Result<>{};
}

async::Task<> Worker::watch(std::shared_ptr<State> state) {
  // Init sends the runner's exit, unless init was killed first; then it ends, and with it the whole
  // namespace.
  if (auto packet = co_await state->status.receive())
    if (auto exited = as_exited(*packet)) state->exit = to_exit(*exited);
  co_await state->init->wait();
  kw_cgroup_usage usage{};
  kw_cgroup_finish(state->cgroup.c_str(), &usage);
  state->exit.oom_kills = usage.oom_kills + (state->over_memory ? 1 : 0);
  process::reap_orphans();
  if (state->killed_at) state->row.add("end", *state->killed_at);
  state->ended.set();
}

// For hosts without a memory cgroup. The pause bounds the memory that a candidate can take unnoticed.
async::Task<> Worker::guard_memory(std::shared_ptr<State> state) {
  while (!state->ended.is_set()) {
    if (process::tree_memory_bytes(state->init_pid) > state->memory_bytes) {
      state->over_memory = true;
      state->kill();
      co_return;
    }
    co_await async::sleep_until(Deadline::in(200ms));
  }
}

// Reads the CPU time of the few requests that take long, and so costs nothing for the others.
async::Task<> Worker::watch_long_requests(std::shared_ptr<State> state) {
  constexpr auto pause = 250ms;
  while (!state->ended.is_set()) {
    co_await async::within(Deadline::in(pause), nullptr, state->ended.wait());
    const auto now = async::SteadyClock::now();
    if (state->asked && !state->long_request && now - *state->asked >= pause)
      state->long_request = State::LongRequest{now, process::cpu_use(state->init_pid)};
  }
}

async::Task<Exit> Worker::end() {
  auto state = state_;
  channel_.close();
  if (state->init) {
    state->kill();
    // A process whose kernel still runs on a GPU ends only with the kernel; after Ctrl-C the wait is shorter.
    auto patience = stop_ != nullptr && stop_->requested() ? 2s : 10s;
    co_await async::within(Deadline::in(patience), nullptr, state->ended.wait());
  }
  co_return state->exit;
}

async::Task<Lost> Worker::lost(Lost::Why why, std::string detail) {
  // The report of the exit arrives shortly after the channel closes.
  if (why == Lost::Why::closed) {
    auto state = state_;
    if (!co_await async::within(Deadline::in(1s), stop_, state->ended.wait())) why = Lost::Why::died;
  }
  Exit exit = co_await end();
  if (const auto& killed = state_->killed_for_memory; killed && why != Lost::Why::stopped)
    co_return Lost{killed->first, killed->second, exit};
  co_return Lost{why, std::move(detail), exit};
}

async::Task<std::expected<Reply, Lost>> Worker::ask(std::string packet, std::vector<int> fds,
                                                    Deadline deadline) {
  using namespace boost::asio::experimental::awaitable_operators;
  auto exchange = [](Worker* self, std::string bytes,
                     std::vector<int> with) -> async::Task<Result<process::Packet>> {
    if (auto sent = co_await self->channel_.send(std::move(bytes), std::move(with)); !sent)
      co_return std::unexpected(sent.error());
    // A descendant may keep the channel open after the process ended, so the end is awaited too.
    auto first = co_await (self->channel_.receive() || self->state_->ended.wait());
    if (first.index() == 0) co_return std::move(std::get<0>(first));
    co_return fail("the process ended");
  };
  const Timeline::Span span(state_->row, state_->row ? wire::kind_of(packet) : "");
  state_->asked = async::SteadyClock::now();
  auto waited = co_await async::within(deadline, stop_, exchange(this, std::move(packet), std::move(fds)));
  state_->asked.reset();
  if (!waited.value) {
    const bool stopped = waited.ended == async::Ended::stop;
    const bool starved = !stopped && state_->is_starved();  // before its end
    Lost why = co_await lost(stopped ? Lost::Why::stopped : Lost::Why::deadline,
                             stopped ? stop_->cause() : "the deadline passed");
    why.starved = starved;
    co_return std::unexpected(std::move(why));
  }
  state_->long_request.reset();
  if (!*waited.value) co_return std::unexpected(co_await lost(Lost::Why::closed, waited.value->error().what));
  process::Packet answer = std::move(**waited.value);
  auto body = wire::decode(answer.bytes);
  if (!body) co_return std::unexpected(co_await lost(Lost::Why::malformed, body.error().what));
  co_return Reply{std::move(*body), std::move(answer.fds)};
}

}  // namespace kw::engine
