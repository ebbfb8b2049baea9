// A candidate's calls, recorded in its own process and judged by their replays in another.
#pragma once

#include "verify/judge/context.h"
#include "verify/judge/live_calls.h"
#include "verify/judge/provenance.h"
#include "verify/judge/reference_clock.h"
#include "verify/judge/replays.h"

namespace kw::verify {

class ReplayPath {
 public:
  ReplayPath(Case of, OracleSide& oracle, LiveCalls& calls)
      : case_(of), oracle_(oracle), calls_(calls), replays_(of, oracle) {}

  // Live and recorded calls in the candidate's own process, then its replays in another.
  async::Task<Evidence> judge(wire::Weights weights);
  CandidateReplays& replays() { return replays_; }
  // Times reference and candidate with the same instrument, interleaved, on new inputs. A reference whose
  // replays fail is dropped.
  async::Task<Times> time(DeviceShare& device, ReferenceReplays::Found& reference);
  // Finds the origin of the launches, and whether the result needs them.
  // `reference` launches libraries' kernels only.
  async::Task<Provenance> find_launches(ReferenceReplays::Found& reference);
  // Further trials of a share of candidates, without the recorder in the process.
  async::Task<Evidence> audit(wire::Weights weights);

 private:
  // Each returns why the candidate cannot be replayed; empty: it can.
  async::Task<Outcome<std::string>> call_and_record(Evidence& seen);
  async::Task<Outcome<std::string>> record_call(std::uint32_t trial, Evidence& seen);
  async::Task<Outcome<std::string>> load_and_judge(Evidence& seen);
  async::Task<Outcome<std::string>> end_calls_and_load();
  std::string keep_recording(const engine::Recorded& recorded, std::size_t number) const;
  async::Task<Outcome<>> sample(DeviceShare& device, ReferenceReplays::Found& reference, Times& times);
  async::Task<Outcome<>> time_by_events(DeviceShare& device, const std::string& why_not_replayed,
                                        Times& times);
  async::Task<Outcome<>> sample_by_events(ReferenceClock& clock);
  async::Task<Outcome<>> compare_with_outside_clock(DeviceShare& device, Times& times);
  async::Task<Outcome<>> time_segments(DeviceShare& device, ReferenceReplays::Found& reference, Times& times);
  async::Task<> time_compiled_reference(Times& times);
  async::Task<Outcome<>> call_unrecorded(Evidence& seen);

  Case case_;
  OracleSide& oracle_;
  LiveCalls& calls_;
  CandidateReplays replays_;
  std::shared_ptr<Attesting> attesting_;  // set at the first replay
  std::uint32_t call_count_ = 0;          // of live calls, including recorded ones
};

}  // namespace kw::verify
