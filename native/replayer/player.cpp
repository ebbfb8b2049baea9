#include "player.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "before.h"

namespace kw::replayer {
namespace {

// Keeps the reply within one packet.
constexpr std::size_t max_launch_times = 6000;

constexpr std::size_t marker_event = 2;  // of the clock, behind those of a replay's begin and end

// In a paced order a kernel may wait for a flag that a kernel of another stream sets. The times bound how
// long the other one waits to be enqueued.
constexpr double most_paced_ms = 20;
constexpr double most_paced_in_all_ms = 1000;

const recording::Operation& operation_of(const Slot& slot, std::size_t number) {
  return *slot.recording().operations()->Get(static_cast<flatbuffers::uoffset_t>(number));
}

std::string name_of_operation(const Slot& slot, std::size_t operation) {
  const auto* launch = operation_of(slot, operation).work_as_Launch();
  if (launch == nullptr || launch->name() == nullptr) return fmt::format("operation {}", operation);
  return "the launch of " + plain_name(launch->name()->string_view());
}

// "the launch of relu_kernel (operation 4, stream 1)".
std::string place_of_step(const Slot& slot, std::size_t step) {
  const std::size_t number = slot.plan().steps[step].operation;
  const recording::Operation& operation = operation_of(slot, number);
  const std::uint32_t stream = operation.stream();
  if (operation.work_as_Launch() != nullptr)
    return fmt::format("{} (operation {}, stream {})", name_of_operation(slot, number), number, stream);
  std::string kind = recording::EnumNameWork(operation.work_type());
  kind[0] = static_cast<char>(kind[0] - 'A' + 'a');
  return fmt::format("the {} of operation {} on stream {}", kind, number, stream);
}

// Names the launches that may have failed, when the device reports only that one did.
std::string suspects(const Slot& slot) {
  const auto& launches = slot.program().launches();
  if (launches.size() == 1) return name_of_operation(slot, launches.front().operation);
  if (launches.empty()) return "a replay without launches";
  return fmt::format("one of {} launches, the first being {}", launches.size(),
                     plain_name(launches.front().recorded->name()->string_view()));
}

Outcome<> check_split(const Slot& slot, const wire::ReplayT& request) {
  if (!request.split) return {};
  if (!slot.plan().split.why_not.empty()) return infrastructure(slot.plan().split.why_not);
  if (request.each_launch || request.repeats > 1 || request.order != wire::Order::recorded)
    return infrastructure("passes are timed in one replay in recorded order");
  return {};
}

Result<std::set<std::size_t>> left_out(const Slot& slot, const std::vector<std::uint32_t>& numbers) {
  std::set<std::size_t> operations;
  for (std::uint32_t number : numbers) {
    if (number >= slot.program().launches().size()) return fail(fmt::format("there is no launch {}", number));
    operations.insert(slot.program().launches()[number].operation);
  }
  return operations;
}

}  // namespace

void Player::note(CUresult result, const char* what) {
  if (first_) first_ = device_.checked(result, what);
  if (++enqueued_ < max_behind_gate || !device_.gate().closed()) return;
  open_gate();
  gated_ = false;
}

void Player::open_gate() {
  opened_ = SteadyClock::now();
  device_.gate().open();
}

void Player::note(CUresult result, const Job& job, std::size_t operation) {
  if (first_ && result != CUDA_SUCCESS)
    first_ = device_.checked(result, name_of_operation(job.slot, operation));
  note(CUDA_SUCCESS, "");
}

Outcome<> Player::noted() const {
  return first_;
}

void Player::fork(const Job& job) {
  if (job.schedule.streams.empty()) return;
  note(device_.driver().cuEventRecord(clock_.joint(), job.slot.stream(0)), "forking streams");
  for (std::size_t each : job.schedule.streams)
    note(device_.driver().cuStreamWaitEvent(job.slot.stream(each), clock_.joint(), 0), "forking streams");
}

void Player::join(const Job& job) {
  for (std::size_t each : job.schedule.streams) {
    note(device_.driver().cuEventRecord(clock_.joint(), job.slot.stream(each)), "joining streams");
    note(device_.driver().cuStreamWaitEvent(job.slot.stream(0), clock_.joint(), 0), "joining streams");
  }
}

void Player::turn(const Job& job, const Turn& turn) {
  CUstream stream = job.slot.stream(turn.stream);
  for (std::size_t before : turn.after)
    note(device_.driver().cuStreamWaitEvent(stream, job.slot.event(before), 0), "waiting for another stream");
  if (!turn.left_out) note(job.slot.enqueue(turn.operation, stream), job, turn.operation);
  if (turn.signals)
    note(device_.driver().cuEventRecord(job.slot.event(turn.step), stream), "recording an event");
  if (job.schedule.paced) pace(job, turn);
}

// Gives the step time to end before the next one is enqueued. A step that waits for the next one does not end
// until then.
void Player::pace(const Job& job, const Turn& turn) {
  const double limit_ms = std::min(most_paced_ms, most_paced_in_all_ms - paced_ms_);
  const auto began = SteadyClock::now();
  CUresult result = CUDA_ERROR_NOT_READY;
  double spent_ms = 0;
  while (result == CUDA_ERROR_NOT_READY && spent_ms < limit_ms) {
    result = device_.driver().cuStreamQuery(job.slot.stream(turn.stream));
    spent_ms = ms_since(began);
  }
  paced_ms_ += spent_ms;
  if (first_ && result != CUDA_ERROR_NOT_READY)
    first_ = device_.checked(result, name_of_operation(job.slot, turn.operation));
}

void Player::once(const Job& job) {
  const std::size_t split = job.slot.plan().split.at;
  bool is_marked = !job.request.split;
  fork(job);
  for (const Turn& each : job.schedule.turns) {
    if (!noted()) return;
    if (!is_marked && each.step >= split) {
      mark(job);
      is_marked = true;
    }
    turn(job, each);
  }
  if (!is_marked) mark(job);
  join(job);
}

void Player::mark(const Job& job) {
  join(job);
  if (auto marker = clock_.event(marker_event))
    note(device_.driver().cuEventRecord(*marker, job.slot.stream(0)), "timing");
  fork(job);
}

Outcome<> Player::take_passes(wire::ReplayedT& reply) {
  auto begin = clock_.event(0);
  auto end = clock_.event(1);
  auto marker = clock_.event(marker_event);
  if (!begin || !end || !marker) return infrastructure("no events can be made");
  auto forward_ms = clock_.between_ms(*begin, *marker);
  if (!forward_ms) return std::unexpected(forward_ms.error());
  auto backward_ms = clock_.between_ms(*marker, *end);
  if (!backward_ms) return std::unexpected(backward_ms.error());
  reply.forward_ms = *forward_ms;
  reply.backward_ms = *backward_ms;
  return {};
}

Outcome<> Player::waited(const Job& job) {
  device_.gate().open();
  auto ended = device_.checked(device_.driver().cuCtxSynchronize(), suspects(job.slot));
  return noted() ? ended : noted();
}

Outcome<> Player::run_batch(Job& job, wire::ReplayedT& reply) {
  const driver::Driver& driver = device_.driver();
  auto begin = clock_.event(0);
  auto end = clock_.event(1);
  // Made here, since nothing is made behind the gate.
  auto marker = clock_.event(marker_event);
  if (!begin || !end || !marker) return infrastructure("no events can be made");
  CUstream stream = job.slot.stream(0);
  // A first launch may set up memory, and would wait for the device behind the gate.
  gated_ = job.request.timed && job.slot.warm && !job.schedule.paced;
  if (gated_) note(device_.gate().close(stream), "closing the gate");
  if (gated_) note(clock_.marks().begin(stream), "marking the beginning");
  note(driver.cuEventRecord(*begin, stream), "timing");
  opened_ = SteadyClock::now();  // without a gate the work starts here
  for (std::uint32_t i = 0; i < std::max(job.request.repeats, 1U) && noted(); ++i) once(job);
  note(driver.cuEventRecord(*end, stream), "timing");
  if (gated_) note(clock_.marks().end(stream), "marking the end");
  reply.gated = gated_;
  if (gated_) open_gate();
  const auto marked_ms = gated_ && noted() ? clock_.marks().watch(stream, longest_watch) : std::nullopt;
  auto ended = device_.checked(driver.cuStreamSynchronize(stream), suspects(job.slot));
  reply.host_ms = ms_since(opened_) - clock_.host_floor_ms();
  reply.marked_ms = marked_ms.value_or(reply.marked_ms);
  if (auto all = waited(job); !all || !ended) return all ? ended : all;
  auto ms = clock_.between_ms(*begin, *end);
  if (!ms) return std::unexpected(ms.error());
  reply.device_ms = *ms;
  return job.request.split ? take_passes(reply) : Outcome<>{};
}

Outcome<> Player::run_each(Job& job, wire::ReplayedT& reply) {
  // Each launch takes three driver calls, behind a gate.
  constexpr std::size_t most_at_once = 128;
  const driver::Driver& driver = device_.driver();
  CUstream stream = job.slot.stream(0);
  constexpr double not_run_ms = -1;
  std::vector<double> times(job.slot.program().launches().size(), not_run_ms);
  std::vector<std::size_t> pending;  // launches, each with events 2i and 2i + 1
  auto read = [&]() -> Outcome<> {
    if (auto ended = waited(job); !ended) return ended;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      auto begin = clock_.event(2 * i);
      auto end = clock_.event(2 * i + 1);
      if (!begin || !end) return infrastructure("no events can be made");
      auto ms = clock_.between_ms(*begin, *end);
      if (!ms) return std::unexpected(ms.error());
      times[pending[i]] = *ms;
      reply.device_ms += *ms;
    }
    pending.clear();
    return {};
  };
  for (const Turn& each : job.schedule.turns) {
    bool timed = !each.left_out && job.slot.program().has(each.operation);
    if (pending.size() == most_at_once || enqueued_ + 4 > max_behind_gate)
      if (auto done = read(); !done) return done;
    if (job.slot.warm && !device_.gate().closed()) {
      enqueued_ = 0;
      note(device_.gate().close(stream), "closing the gate");
    }
    auto begin = clock_.event(2 * pending.size());
    auto end = clock_.event(2 * pending.size() + 1);
    if (!begin || !end) return infrastructure("no events can be made");
    if (timed) note(driver.cuEventRecord(*begin, stream), "timing");
    turn(job, each);
    if (timed) note(driver.cuEventRecord(*end, stream), "timing");
    if (timed) pending.push_back(job.slot.program().number_of(each.operation));
    if (!noted()) break;
  }
  reply.gated = job.slot.warm;
  if (auto done = read(); !done) return done;
  times.resize(std::min(times.size(), max_launch_times));
  reply.launch_ms = std::move(times);
  return {};
}

// Copies the outputs as the caller would find them, then runs steps that nothing waited for in the recorded
// call.
Outcome<> Player::finish(Job& job, wire::ReplayedT& reply) {
  for (const wire::OutputSpan& each : job.slot.outputs()) {
    if (each.bytes() == 0) continue;
    CUdeviceptr to = job.arena.address() + each.to();
    note(device_.driver().cuMemcpyDtoDAsync(to, each.address(), each.bytes(), job.slot.stream(0)),
         "taking the outputs");
  }
  if (!job.schedule.unjoined.empty())
    if (auto taken = waited(job); !taken) return taken;
  for (const Turn& each : job.schedule.unjoined) turn(job, each);
  auto ended = waited(job);
  reply.downloads_equal = job.slot.host().downloads_equal();
  return ended;
}

Outcome<> Player::run(Job& job, wire::ReplayedT& reply) {
  first_ = {};
  enqueued_ = 0;
  gated_ = false;
  paced_ms_ = 0;
  if (job.request.flush_l2)
    if (auto flushed = flush_.run(device_); !flushed) return flushed;
  return in_turn([&] { return job.request.each_launch ? run_each(job, reply) : run_batch(job, reply); },
                 [&] { return finish(job, reply); });
}

Outcome<std::string> Player::overrun(const Job& job) const {
  auto changed = gaps_.changed(device_, job.slot.gaps(), job.request.gap_key);
  if (!changed) return std::unexpected(changed.error());
  if (!*changed) return std::string{};
  return place_of(**changed, job.slot.recording(), job.slot.outputs()) + ", in " + suspects(job.slot);
}

Outcome<wire::ReplayedT> Player::play(Slot& slot, const Arena& arena, const wire::ReplayT& request) {
  auto without = left_out(slot, request.skip);
  if (!without) return infrastructure(without.error().what);
  if (auto possible = check_split(slot, request); !possible) return std::unexpected(possible.error());
  wire::Order order = request.each_launch ? wire::Order::serial : request.order;
  Job job{slot, arena, request, schedule(slot.plan(), {order, request.late_stream, request.swaps}, *without)};
  if (auto ready = put_back(device_, slot, arena); !ready) return std::unexpected(ready.error());
  if (request.guard)
    if (auto filled = gaps_.fill(device_, slot.gaps(), request.gap_key); !filled)
      return std::unexpected(filled.error());
  // The flush waits as well, and each wait also stalls other processes on the device.
  if (!request.flush_l2 || request.guard)
    if (auto ready = settle(device_); !ready) return std::unexpected(ready.error());
  if (request.timed && slot.warm)
    if (auto found = clock_.find_floor_at_work(device_.stream()); !found)
      return std::unexpected(found.error());
  wire::ReplayedT reply;
  reply.floor_ms = clock_.floor_ms();
  reply.host_floor_ms = clock_.host_floor_ms();
  reply.marked_floor_ms = clock_.marked_floor_ms().value_or(reply.marked_floor_ms);
  auto done = run(job, reply);
  // No work may stay behind the gate after a failure.
  device_.gate().open();
  if (!done) return std::unexpected(done.error());
  if (request.guard) {
    auto found = overrun(job);
    if (!found) return std::unexpected(found.error());
    reply.overrun = std::move(*found);
  }
  if (const auto& swapped = job.schedule.swapped)
    reply.swapped = {place_of_step(slot, swapped->first), place_of_step(slot, swapped->second)};
  slot.warm = slot.warm || without->empty();
  return reply;
}

}  // namespace kw::replayer
