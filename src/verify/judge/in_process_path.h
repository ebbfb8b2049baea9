// Judging by live calls in the candidate's own process, where its calls cannot be replayed.
#pragma once

#include "verify/judge/context.h"
#include "verify/judge/live_calls.h"

namespace kw::verify {

// A candidate whose calls cannot be replayed: judged on fresh inputs at every call, timed ones included, and
// timed by events of its own process. Its time is a claim, which an outside clock bounds; `trust` says so.
class InProcess {
 public:
  InProcess(Case of, OracleSide& oracle, LiveCalls& calls) : case_(of), oracle_(oracle), calls_(calls) {}

  // Adds evidence to that of the attempt to replay the candidate.
  async::Task<Evidence> judge(Evidence seen);
  // Calls on these families alone, in a new process that ends afterwards: for a candidate whose replays are
  // right, and whose host code would have taken another way there.
  async::Task<Outcome<Generality>> call_on_families(std::vector<std::string> families, wire::Weights weights);
  // Times calls in the process that was judged, alone on the device.
  async::Task<Times> time(DeviceShare& device);

 private:
  async::Task<Outcome<>> start(Evidence& seen);
  async::Task<Outcome<>> judge_calls(Evidence& seen);
  async::Task<Outcome<>> vary_inputs(Evidence& seen);
  async::Task<Outcome<FamilyAnswer>> ask_family(std::string family, Evidence& seen);
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
