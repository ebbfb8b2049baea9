// Calls of a candidate in its own process, each on fresh inputs and judged by the oracle. They add to the
// evidence that the caller hands in and keeps until they end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "verify/judge/blame.h"
#include "verify/judge/memory_guard.h"
#include "verify/judge/oracle_side.h"
#include "verify/judge/varied_inputs.h"
#include "verify/workers/candidate_workers.h"

namespace kw::verify {

// Launches in the form of the verdict.
std::vector<Launch> launches_of(const wire::ReturnedT& returned, Device device);
// The same for the evidence record: all of it is claimed by the candidate's process.
LaunchList claimed_launches(const wire::ReturnedT& returned, Device device);

// Ways of a backward pass, which the trials take in turns.
inline constexpr std::uint32_t backward_ways = 1 + static_cast<std::uint32_t>(wire::Backward::MAX);

class LiveCalls {
 public:
  struct How {
    wire::Effect effect = wire::Effect::kept;
    bool timed = false;
    std::string poison = {};  // of the memory that the candidate allocates; empty: as before
    wire::Backward backward = wire::Backward::once;
    std::vector<std::uint64_t> at_edge = {};  // offsets of tensors behind whose end no address is mapped
    bool waits = false;                       // for each launch, so that a device's fault names its kernel
  };

  LiveCalls(Case of, OracleSide& oracle) : case_(of), oracle_(oracle) {}

  // Restarts the clock of the candidate's time limit.
  void restart_clock() { deadline_ = async::Deadline::in(case_.settings.timeout); }
  bool is_out_of_time() const { return deadline_.passed(); }

  // The calls on fresh inputs before anything else is asked: where gradients are judged, at least one of each
  // way of the backward pass.
  std::uint32_t trials() const {
    const std::uint32_t asked = case_.settings.correctness_trials;
    return case_.settings.backward ? std::max(asked, backward_ways) : asked;
  }

  // Takes a process for the candidate: a new fork, or a spare one of a GPU.
  async::Task<Outcome<>> start(std::shared_ptr<engine::ForkServer> server);
  async::Task<Outcome<>> start(engine::SpareWorkers& spares);
  async::Task<Outcome<>> load(wire::Mode mode, std::string poison, Evidence& seen);
  async::Task<> end();

  // Draws inputs for the next call. A call draws its own inputs if there are none.
  async::Task<Outcome<>> draw(std::uint32_t trial, wire::Backward backward = wire::Backward::once);
  async::Task<Outcome<wire::ReturnedT>> call(std::uint32_t trial, How how, std::chrono::milliseconds budget);
  async::Task<Outcome<>> judge(std::unique_ptr<wire::ValueT> outputs, Evidence& seen);
  // One call and its judgement.
  async::Task<Outcome<>> trial(std::uint32_t trial, How how, std::chrono::milliseconds budget,
                               Evidence& seen);
  // One call on inputs of a family. It adds no evidence: a failure is not held against the result.
  async::Task<Outcome<FamilyAnswer>> family(std::uint32_t trial, std::string family,
                                            std::chrono::milliseconds budget);
  // Further trials of `--audit-calls` from the number `first` on, as many of `count` as begin within the time
  // limit, which each has for itself. An error names the call's number in its process.
  struct Further {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::chrono::milliseconds budget{};     // of one call
    std::vector<std::string> poisons = {};  // in turns; none: as before
  };
  async::Task<Outcome<>> further_calls(Further these, Evidence& seen);
  // Makes two calls. The first result must be right, and must still be right after the second call.
  async::Task<Outcome<>> first_calls(Evidence& seen);
  // After two or more calls: the first result must still be right. `first_seed` is that of the first call's
  // inputs.
  async::Task<Outcome<>> first_result_stays(std::uint64_t first_seed, Evidence& seen);
  // One trial under the recorder, or the reason why the call cannot be recorded.
  using Recorded = std::expected<engine::Recorded, std::string>;
  async::Task<Outcome<Recorded>> record(std::uint32_t trial, Evidence& seen);
  // Judges the outputs of a call that is no trial.
  async::Task<Outcome<wire::JudgedT>> judged(std::unique_ptr<wire::ValueT> outputs);
  // Judges a call whose launches had other effects than the candidate's: `name` says which. If the outputs
  // are right all the same, the kernels are decoys. Where zeros are right on these inputs too, the call
  // proves nothing: false, and other inputs may tell.
  async::Task<bool> check_decoy(std::string name, std::unique_ptr<wire::ValueT> outputs, Evidence& seen);
  // The reference's time over the candidate's, of whole calls with the host's part: a claim.
  async::Task<std::optional<double>> call_speedup(double budget_ms, std::chrono::milliseconds at_most);

  std::uint64_t seed() const { return drawn_.seed; }    // of the inputs drawn last
  std::uint64_t launches() const { return launches_; }  // of all trials
  double shortest_ms() const { return shortest_ms_; }   // of the calls that returned; 0: none did
  bool is_native() const { return native_code_; }       // CUDA C++ ran in one of them
  // The most that an autotuner of the candidate had to choose from in the trials; 0: no autotuner ran.
  std::uint32_t configurations() const { return configurations_; }
  // Autotuners of later processes of the interpreter take the configuration of this number.
  void choose_configuration(std::uint32_t number) { configuration_ = number; }
  bool launched() const { return launches_ > 0 || native_code_; }
  std::optional<std::uint32_t> layers() const { return layers_; }  // around the process started last
  // The output of the last of the ended processes that printed anything.
  const std::string& printed() const { return printed_; }

 private:
  async::Task<Outcome<>> open(wire::Mode mode, std::string poison);
  Outcome<> take(Result<std::unique_ptr<engine::Worker>> worker, std::shared_ptr<engine::ForkServer> from);
  wire::Backward backward_of(std::uint32_t trial, const How& how) const;
  Ended in_backward(Ended ended, wire::Backward backward) const;
  std::unexpected<Ended> ended(const engine::WorkerFailure& refusal, Stage stage) const;
  void count(const wire::ReturnedT& returned);

  Case case_;
  OracleSide& oracle_;
  std::unique_ptr<engine::Runner> runner_;
  MemoryGuard::Watched watched_;  // ends before the runner
  std::shared_ptr<engine::ForkServer> forked_by_;
  async::Deadline deadline_;
  std::uint32_t calls_of_process_ = 0;
  OracleSide::Drawn drawn_;          // for the next call, or, without the arena, of the last
  bool has_backward_entry_ = false;  // gradients come from a function of the candidate's own
  std::uint64_t launches_ = 0;
  double shortest_ms_ = 0;
  bool native_code_ = false;
  std::uint32_t configurations_ = 0;
  std::uint32_t configuration_ = 0;
  std::optional<std::uint32_t> layers_;
  std::string printed_;
};

}  // namespace kw::verify
