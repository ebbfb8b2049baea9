// Judging by live calls alone: under Triton's interpreter without a GPU, and in the candidate's own process
// where its calls cannot be replayed.
#pragma once

#include "verify/judge/context.h"
#include "verify/judge/live_calls.h"

namespace kw::verify {

// The path without a GPU: every launch is compiled for sm_90 and not run, then Triton's interpreter runs the
// candidate.
class CpuPath {
 public:
  CpuPath(Case of, OracleSide& oracle, LiveCalls& calls) : case_(of), oracle_(oracle), calls_(calls) {}

  // Compiles, and halves the shapes until the interpreter can afford the grids.
  async::Task<Evidence> compile();
  // Runs the trials under the interpreter, and halves the shapes while one launch takes too long.
  async::Task<Evidence> interpret(wire::Weights weights);

 private:
  async::Task<Outcome<>> fit_shapes(Evidence& seen);
  async::Task<Outcome<wire::ReturnedT>> compile_once(Evidence& seen);
  async::Task<Outcome<>> interpret_once(Evidence& seen);
  async::Task<Outcome<>> start_interpreter(std::string poison, Evidence& seen);
  async::Task<Outcome<std::unique_ptr<wire::ValueT>>> ask(wire::Effect effect, Evidence& seen);
  async::Task<Outcome<>> find_decoys(Evidence& seen);
  async::Task<Outcome<>> find_race(Evidence& seen);
  bool can_shrink() const;
  async::Task<Outcome<bool>> shrink(std::uint32_t halvings, Evidence& seen);

  Case case_;
  OracleSide& oracle_;
  LiveCalls& calls_;
  bool needs_process_ = false;                  // a question ended the interpreter's process
  std::chrono::milliseconds question_limit_{};  // of a call that is no trial
};

// A candidate whose calls cannot be replayed: judged on fresh inputs at every call, timed ones included, and
// timed by events of its own process. Its time is a claim, which an outside clock bounds; `trust` says so.
class InProcess {
 public:
  InProcess(Case of, OracleSide& oracle, LiveCalls& calls) : case_(of), oracle_(oracle), calls_(calls) {}

  // Adds evidence to that of the attempt to replay the candidate.
  async::Task<Evidence> judge(Evidence seen);
  // Times calls in the process that was judged, alone on the device.
  async::Task<Times> time(DeviceShare& device);

 private:
  async::Task<Outcome<>> start(Evidence& seen);
  async::Task<Outcome<>> judge_calls(Evidence& seen);
  async::Task<Outcome<>> sample(Times& times);
  struct Clocked {
    double wall_ms = 0;     // by the supervisor's clock
    double claimed_ms = 0;  // by its own events; negative: no claim
  };
  async::Task<Outcome<Clocked>> clocked_call(LiveCalls::How how, Evidence& seen);
  async::Task<Outcome<>> timed_calls(std::uint32_t count, Times& times);

  Case case_;
  OracleSide& oracle_;
  LiveCalls& calls_;
  std::uint32_t next_call_ = 0;
};

}  // namespace kw::verify
