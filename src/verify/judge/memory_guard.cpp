#include "verify/judge/memory_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process/cpu_use.h"

namespace kw::verify {

using namespace std::chrono_literals;
using engine::Lost;

namespace {

constexpr auto look_pause = 200ms;
constexpr auto end_limit = 2s;  // the memory of ended processes is free after this time
constexpr std::uint64_t most_reserve_bytes = std::uint64_t{2} << 30;

// About three contexts.
std::uint64_t reserve_bytes(const DeviceMemory& memory) {
  return std::min(most_reserve_bytes, memory.total_bytes / 16);
}

// Alone on the device, of what was free before: an oracle and a replayer need the rest.
std::uint64_t limit_alone_bytes(std::uint64_t free_bytes) {
  return free_bytes / 8 * 7;
}

std::string in_gib(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (std::uint64_t{1} << 30));
}

}  // namespace

struct MemoryGuard::Entry {
  engine::Worker* runner = nullptr;
  bool is_alone = false;
  std::uint64_t free_at_start_bytes = 0;
};

struct MemoryGuard::State {
  using Held = std::vector<std::pair<Entry*, std::uint64_t>>;

  State(async::Loop& on, std::unique_ptr<DeviceMemoryReader> from, engine::OraclePool& pool,
        std::size_t number)
      : loop(on), reader(std::move(from)), oracles(pool), jobs(std::max<std::size_t>(1, number)) {}

  // Bytes of the device that the processes of each watched runner hold; empty if the driver names none of
  // them.
  Held held() {
    Held found;
    const std::vector<ProcessMemory> processes = reader->processes();
    if (processes.empty()) return found;
    for (const auto& each : watched) {
      const std::vector<pid_t> tree = process::tree_of(each->runner->init());
      std::uint64_t bytes = 0;
      for (const ProcessMemory& process : processes)
        if (std::ranges::find(tree, process.pid) != tree.end()) bytes += process.bytes;
      if (bytes > 0) found.emplace_back(each.get(), bytes);
    }
    return found;
  }

  void forget_ended() {
    std::erase_if(watched, [](const auto& each) { return each->runner == nullptr; });
  }

  static void evict(engine::Worker& runner) {
    runner.kill_for_memory(Lost::Why::evicted, "it was ended because the device had little memory left");
  }

  static bool evict_largest(const Held& held, std::uint64_t share_bytes) {
    Entry* largest = nullptr;
    std::uint64_t most_bytes = share_bytes;
    for (const auto& [entry, bytes] : held) {
      if (entry->is_alone || bytes <= most_bytes) continue;
      largest = entry;
      most_bytes = bytes;
    }
    if (largest != nullptr) evict(*largest->runner);
    return largest != nullptr;
  }

  // Those since whose start the device has lost memory: more than this was free then.
  bool evict_suspects(std::uint64_t free_bytes) {
    bool ended = false;
    for (const auto& each : watched) {
      if (each->is_alone || each->free_at_start_bytes <= free_bytes) continue;
      evict(*each->runner);
      ended = true;
    }
    return ended;
  }

  // The device must have lost that memory too: the driver's number of the process may be another's.
  static void end_if_over_limit(const Entry& entry, std::uint64_t bytes, std::uint64_t free_bytes) {
    const std::uint64_t limit_bytes = limit_alone_bytes(entry.free_at_start_bytes);
    if (bytes <= limit_bytes || free_bytes + limit_bytes / 2 > entry.free_at_start_bytes) return;
    entry.runner->kill_for_memory(
        Lost::Why::over_device_memory,
        fmt::format("the candidate took {} of the device's memory, alone on it: at most {} are allowed",
                    in_gib(bytes), in_gib(limit_bytes)));
  }

  async::Loop& loop;
  std::unique_ptr<DeviceMemoryReader> reader;
  engine::OraclePool& oracles;
  std::size_t jobs;
  std::list<std::shared_ptr<Entry>> watched;
  bool looks = false;
  bool idle_ended = false;  // since memory was last plentiful
  bool guard_ended = false;
  async::Deadline patience;  // processes that were ended free their memory until then
};

MemoryGuard::MemoryGuard(async::Loop& loop, std::unique_ptr<DeviceMemoryReader> memory,
                         engine::OraclePool& oracles, std::size_t jobs)
    : state_(std::make_shared<State>(loop, std::move(memory), oracles, jobs)) {
  state_->patience = async::Deadline::in(0ms);
}

MemoryGuard::~MemoryGuard() {
  state_->guard_ended = true;
}

MemoryGuard::Watched& MemoryGuard::Watched::operator=(Watched&& other) noexcept {
  if (this == &other) return *this;
  leave();
  entry_ = std::exchange(other.entry_, nullptr);
  return *this;
}

void MemoryGuard::Watched::leave() {
  if (entry_) entry_->runner = nullptr;  // the guard forgets it at its next look
  entry_.reset();
}

MemoryGuard::Watched MemoryGuard::watch(engine::Worker& runner, bool is_alone) {
  state_->forget_ended();
  const auto use = state_->reader->memory();
  auto entry = std::make_shared<Entry>(&runner, is_alone, use ? use->free_bytes : 0);
  state_->watched.push_back(entry);
  if (use && !std::exchange(state_->looks, true)) async::spawn(state_->loop, keep_looking(state_));
  return Watched(std::move(entry));
}

async::Task<> MemoryGuard::keep_looking(std::shared_ptr<State> state) {
  while (!state->guard_ended && !state->watched.empty()) {
    co_await look(state);
    co_await async::sleep_until(async::Deadline::in(look_pause));
  }
  state->looks = false;
}

async::Task<> MemoryGuard::look(std::shared_ptr<State> state) {
  state->forget_ended();
  const auto use = state->reader->memory();
  if (!use || state->watched.empty()) co_return;
  const bool some_are_alone =
      std::ranges::any_of(state->watched, [](const auto& each) { return each->is_alone; });
  const bool is_low = use->free_bytes < reserve_bytes(*use);
  if (!is_low) state->idle_ended = false;
  if (!is_low && !some_are_alone) co_return;

  const auto held = state->held();
  for (const auto& [entry, bytes] : held)
    if (entry->is_alone) State::end_if_over_limit(*entry, bytes, use->free_bytes);
  if (!is_low || !state->patience.passed()) co_return;
  if (!std::exchange(state->idle_ended, true)) {
    co_await state->oracles.end_idle();
    co_return;
  }
  // No runner is ended for memory that others hold: it must have more than its share, or memory must have
  // gone since it started.
  const std::uint64_t share_bytes = use->total_bytes / state->jobs;
  const bool ended = held.empty() ? state->evict_suspects(use->free_bytes + share_bytes)
                                  : State::evict_largest(held, share_bytes);
  if (ended) state->patience = async::Deadline::in(end_limit);
}

}  // namespace kw::verify
