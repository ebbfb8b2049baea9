// Judging without a GPU, by live calls under Triton's interpreter.
#pragma once

#include "verify/judge/context.h"
#include "verify/judge/live_calls.h"

namespace kw::verify {

// The numbers of the further configurations that are tried of `count`, for calls that interpret so many
// programs.
std::vector<std::uint32_t> further_configurations(std::uint32_t count, std::uint64_t programs);

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
  async::Task<Outcome<>> start_interpreter(Evidence& seen);
  async::Task<Outcome<>> renew_interpreter(const Evidence& seen);
  async::Task<Outcome<>> vary_inputs(Evidence& seen);
  async::Task<Outcome<FamilyAnswer>> ask_family(FamilyQuestion asked, const Evidence& seen);
  async::Task<Outcome<std::unique_ptr<wire::ValueT>>> ask(wire::Effect effect, Evidence& seen);
  async::Task<Outcome<>> find_decoys(Evidence& seen);
  async::Task<Outcome<>> find_race(Evidence& seen);
  async::Task<Outcome<>> try_configurations(Evidence& seen);
  async::Task<Outcome<bool>> try_configuration(std::uint32_t number, Evidence& seen);
  void doubt_the_launch(std::optional<Ended>& ended) const;
  std::uint64_t data_bytes() const;  // of a call's inputs, weights and outputs
  bool can_shrink() const;
  async::Task<Outcome<bool>> shrink(std::uint32_t halvings, Evidence& seen);

  Case case_;
  OracleSide& oracle_;
  LiveCalls& calls_;
  bool needs_process_ = false;                  // a question ended the interpreter's process
  std::uint64_t programs_ = 0;                  // of a call
  double shortest_ms_ = 0;                      // of the trials
  std::uint32_t next_call_ = 0;                 // after the trials
  std::chrono::milliseconds question_limit_{};  // of a call that is no trial
  std::chrono::milliseconds patient_limit_{};   // of a call on a family that ran into the former
};

}  // namespace kw::verify
