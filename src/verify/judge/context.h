// State that all attempts on one device share, one job with its share of the device, and the time limits of
// steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/async/wait.h"
#include "base/core/crypto.h"
#include "base/core/timeline.h"
#include "types/job.h"
#include "types/verdict.h"
#include "verify/judge/protocol.h"
#include "verify/workers/device_leases.h"
#include "verify/workers/fork_server.h"
#include "verify/workers/oracle.h"

namespace kw::verify {

// Time limits of steps, independent of the candidate's own time limit.
inline constexpr std::chrono::seconds prepare_limit{120};
inline constexpr std::chrono::seconds spawn_limit{30};
inline constexpr std::chrono::seconds load_limit{60};
inline constexpr std::chrono::seconds judge_limit{120};
inline constexpr std::chrono::seconds replay_load_limit{60};

// Calls without the candidate's launches, on other inputs each, while zeros are right on these inputs too.
inline constexpr int most_decoy_draws = 4;

// Arenas of an oracle: a candidate's process never maps the arena that a reference has written.
inline constexpr std::uint32_t candidate_slot = 0;
inline constexpr std::uint32_t reference_slot = 1;

// The fork servers of this machine; those that a device does not need are null.
struct Servers {
  std::shared_ptr<engine::ForkServer> oracle;
  std::shared_ptr<engine::ForkServer> compile;
  std::shared_ptr<engine::ForkServer> interpret;
  std::shared_ptr<engine::ForkServer> cuda;
  std::shared_ptr<engine::ForkServer> replayer;
  std::shared_ptr<engine::ForkServer> broker;
};

class Censuses;
class ClockFloor;
class MemoryGuard;
class ReferenceTapes;

struct Context {
  async::Loop& loop;
  async::Stop& stop;         // of all; a job has its own
  const Settings& settings;  // of jobs without options
  Servers& servers;
  SecretSeeds& seeds;
  engine::OraclePool& oracles;
  engine::SpareWorkers& runners;        // with a GPU: with the recorder, if available
  engine::SpareWorkers& plain_runners;  // without the recorder
  engine::SpareWorkers& replayers;
  engine::SpareWorkers& wide_replayers;  // for calls of several streams; none is kept ready
  engine::DeviceLeases& leases;
  engine::DeviceLeases& timing_turns;  // shares only, each held within a share of the device
  engine::Limits limits;
  ReferenceTapes& tapes;
  ClockFloor& clock_floor;  // of the device's events
  ClockFloor& wait_floor;   // of the host's clock, from the gate to the end of the wait
  ClockFloor& marks_floor;  // of the marks that the host sees
  Censuses& censuses;
  MemoryGuard* memory_guard = nullptr;  // of the device's memory; null: nothing measures it
  std::uint64_t device_bytes = 0;       // of its memory; 0: unknown
  int device = -1;                      // CUDA ordinal, or -1
  std::string why_no_replay;            // of this machine; empty if it can replay
  std::shared_ptr<Timeline> timeline;   // null: none is kept
  Environment environment;
  std::chrono::milliseconds interpreted_call_limit{static_cast<long>(4 * cpu_call_budget_ms)};
  std::string compute_sanitizer = {};  // the program's path; empty: it is not installed
};

using StageTimes = std::map<Stage, double>;  // milliseconds

// All of these outlive the attempt's parts.
struct Case {
  Context& context;
  const Job& job;
  const Settings& settings;  // of this job
  async::Stop& stop;         // its own
  StageTimes& times;         // of the verdict
  const bool& is_alone;      // since before its candidate ran, no other job has a share of the device
  const Timeline::Row& row;  // of the attempt
};

// Adds the time of its own lifetime to one stage.
class StageTimer {
 public:
  StageTimer(StageTimes& times, const Timeline::Row& row, Stage stage)
      : times_(times), stage_(stage), span_(row, to_string(stage)) {}
  explicit StageTimer(const Case& of, Stage stage) : StageTimer(of.times, of.row, stage) {}
  ~StageTimer() { times_[stage_] += async::ms_since(start_); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  StageTimes& times_;
  Stage stage_;
  Timeline::Span span_;
  async::SteadyClock::time_point start_ = async::SteadyClock::now();
};

// One verdict's lease of its device: a share, several for a task that needs much memory, or all of it after
// the device was drained.
class DeviceShare {
 public:
  DeviceShare(engine::DeviceLeases& leases, async::Stop& stop, const Timeline::Row& row)
      : leases_(leases), stop_(stop), row_(row) {}

  // A stop ends either wait, without a lease.
  async::Task<> take() {
    const Timeline::Span span(row_, "wait for the device");
    co_await wait_for(leases_.share());
  }
  // Waits until no other verdict uses the device or its memory.
  async::Task<> take_all() {
    const Timeline::Span span(row_, "wait for the device alone");
    co_await wait_for(leases_.all());
    alone_ = static_cast<bool>(lease_);
  }
  // While this exists, the verdict calls step_aside() between two uses of the device.
  class Yielding {
   public:
    explicit Yielding(DeviceShare& device) : device_(device) { device_.lease_.set_yielding(true); }
    ~Yielding() { device_.lease_.set_yielding(false); }
    Yielding(const Yielding&) = delete;
    Yielding& operator=(const Yielding&) = delete;

   private:
    DeviceShare& device_;
  };
  bool is_called_aside() const { return leases_.calls_to_step_aside(); }
  // Lets others be timed, if nobody else uses the device.
  async::Task<> step_aside() {
    if (!is_called_aside()) co_return;
    const Timeline::Span span(row_, "wait while others are timed");
    co_await wait_for(leases_.step_aside(std::move(lease_)));
  }
  // Waits until no other verdict uses the device. Those that stepped aside keep their memory.
  async::Task<> drain() {
    if (alone_) co_return;
    const Timeline::Span span(row_, "wait for the device alone");
    co_await wait_for(leases_.all_instead_of(std::move(lease_)));
    alone_ = static_cast<bool>(lease_);
  }
  // Takes so many shares in place of its own if they are free now.
  bool widen(std::size_t shares) {
    const bool done = leases_.widen(lease_, shares);
    alone_ = alone_ || (done && lease_.shares() == leases_.size());
    return done;
  }
  // Gives its share back and waits for so many. The caller holds no device memory meanwhile.
  async::Task<> wait_for_several(std::size_t shares) {
    const Timeline::Span span(row_, "wait for device memory");
    co_await wait_for(leases_.several_instead_of(std::move(lease_), shares));
    alone_ = lease_.shares() == leases_.size();
  }
  void give_back() {
    lease_.give_back();
    alone_ = false;
  }

  bool is_alone() const { return alone_; }
  bool has_others() const { return leases_.has_others(lease_); }
  bool has_all() const { return lease_.shares() == leases_.size(); }
  std::size_t size() const { return leases_.size(); }  // of the device, in shares

 private:
  async::Task<> wait_for(async::Task<engine::Lease> lease) {
    auto waited = co_await async::within(async::Deadline::never(), &stop_, std::move(lease));
    if (waited.value) lease_ = std::move(*waited.value);
  }

  engine::DeviceLeases& leases_;
  async::Stop& stop_;
  const Timeline::Row& row_;
  engine::Lease lease_;
  bool alone_ = false;
};

}  // namespace kw::verify
