// Player: runs one replay.
#pragma once

#include <string>
#include <vector>

#include "before.h"
#include "device.h"
#include "gaps.h"
#include "slot.h"

namespace kw::replayer {

class Player {
 public:
  Player(Device& device, Clock& clock, Flush& flush, const GapKernel& gaps)
      : device_(device), clock_(clock), flush_(flush), gaps_(gaps) {}

  // Restores all memory, runs the recording in the requested order, and copies the outputs to their places in
  // the arena. A fault may leave the context unusable; cuCtxSynchronize then fails.
  Outcome<wire::ReplayedT> play(Slot& slot, const Arena& arena, const wire::ReplayT& request);

 private:
  struct Job {
    Slot& slot;
    const Arena& arena;
    const wire::ReplayT& request;
    Schedule schedule;
  };

  // Empty, or where memory outside all allocations is not as `fill` left it.
  Outcome<std::string> overrun(const Job& job) const;
  Outcome<> run(Job& job, wire::ReplayedT& reply);
  Outcome<> run_batch(Job& job, wire::ReplayedT& reply);
  Outcome<> run_each(Job& job, wire::ReplayedT& reply);
  Outcome<> finish(Job& job, wire::ReplayedT& reply);

  // Each enqueues work and keeps the first failure with the action that failed.
  void once(const Job& job);
  void turn(const Job& job, const Turn& turn);
  void pace(const Job& job, const Turn& turn);
  void fork(const Job& job);
  void join(const Job& job);
  // The marker between the forward and the backward pass: an event that all work so far precedes and all
  // later work follows.
  void mark(const Job& job);
  void note(CUresult result, const Job& job, std::size_t operation);
  void note(CUresult result, const char* what);
  void open_gate();
  Outcome<> take_passes(wire::ReplayedT& reply);
  Outcome<> noted() const;
  Outcome<> waited(const Job& job);

  Device& device_;
  Clock& clock_;
  Flush& flush_;
  const GapKernel& gaps_;
  std::size_t enqueued_ = 0;  // since the gate was closed
  bool gated_ = false;
  SteadyClock::time_point opened_;  // when the work of a batch could start
  double paced_ms_ = 0;             // spent in pace() since the replay began
  Outcome<> first_;
};

}  // namespace kw::replayer
