// The oracle's side of one verdict: an oracle of the pool, its prepared task, its inputs and its judgements.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "verify/judge/blame.h"
#include "verify/judge/context.h"

namespace kw::verify {

// The seed of the random numbers in a call, from the seed of the call's inputs, which nobody can compute from
// it. The oracle computes it as well (_engine/seeds.py).
std::uint64_t call_seed(std::uint64_t inputs_seed);

class OracleSide {
 public:
  explicit OracleSide(Case of) : case_(of) {}

  async::Task<Outcome<>> take();
  // Asks for no families of inputs from now on.
  void give_up_varied_inputs() { varied_ = false; }
  bool varies_inputs() const { return varied_ && case_.settings.varied_inputs; }
  // Prepares the task within these limits and forgets an earlier preparation.
  async::Task<Outcome<>> prepare(std::uint64_t max_bytes, std::uint32_t halvings);
  // Without a GPU: at shapes that an interpreter can afford, if the settings allow smaller ones, and at
  // smaller ones again while the reference finds no memory for its outputs.
  async::Task<Outcome<>> prepare_on_cpu();
  // On a GPU: with the device's shares whose memory the task needs. `device` holds one share, and afterwards
  // all of these. A large task retires the oracle. While it waits for shares it holds no memory, or several
  // that wait would fill the device. Its inputs tell before it is prepared; its outputs, or a lack of memory,
  // afterwards.
  async::Task<Outcome<>> prepare_on_gpu(DeviceShare& device);
  // Prepares a version of the task at other sizes, for calls of the candidate until the end of the attempt:
  // the replays of the task's reference are void, and facts() and spec() remain the task's own.
  async::Task<Outcome<wire::PreparedT>> prepare_version(std::string version, std::uint64_t max_bytes);
  // Examines the prepared task beyond what a verdict needs, on so many draws of its inputs.
  async::Task<Outcome<wire::CertifiedT>> certify(std::size_t draws);
  // end_process() ends the process and frees its device memory. renew() starts another in its place, which
  // ends with the verdict.
  async::Task<> end_process();
  async::Task<Outcome<>> renew();
  async::Task<> give_back();

  // Fresh inputs for a call of the candidate, of a family of facts().families or of the task's own.
  struct Drawn {
    Fd arena;
    std::uint32_t trial = 0;
    std::uint64_t seed = 0;  // never shown to a candidate's process
    std::string family = {};
    wire::DrawnT facts = {};
  };
  // Where gradients are judged, `expanded` asks for cotangents that are equal along dimensions.
  async::Task<Outcome<Drawn>> draw(std::uint32_t trial, std::string family = {}, bool expanded = false);
  async::Task<Outcome<wire::JudgedT>> judge(const Drawn& drawn, std::unique_ptr<wire::ValueT> outputs);
  // Judges outputs of any call, without the check for changed inputs. They lie in the arena of `trial`, and
  // are compared with the reference's for the inputs of `seed`.
  async::Task<Outcome<wire::JudgedT>> judge_outputs(std::uint32_t trial, std::uint64_t seed,
                                                    std::unique_ptr<wire::ValueT> outputs);
  // Judges zeros in place of a result for these inputs.
  async::Task<Outcome<wire::JudgedT>> judge_zeros(std::uint32_t trial, std::uint64_t seed);
  async::Task<Outcome<wire::TimedT>> time_reference(wire::TimeReferenceT request,
                                                    std::chrono::milliseconds at_most);

  // An oracle's work is not the candidate's time.
  std::chrono::milliseconds limit(std::chrono::milliseconds at_most) const;
  // A step ended without a result; `at_most` is its own limit, which the option may have lowered.
  std::unexpected<Ended> refused_at(Stage stage, const engine::WorkerFailure& refusal,
                                    std::chrono::milliseconds at_most) const;
  std::string key() const;  // task_key
  const wire::PreparedT& facts() const { return facts_; }
  const wire::CallSpecT& spec() const { return spec_; }
  std::uint64_t moved_bytes() const { return spec_.input_bytes + spec_.output_bytes; }
  bool is_large() const;  // it needs more memory than a share of the device has
  int call_spec() const { return call_spec_.get(); }
  std::uint32_t halvings() const { return halvings_; }
  bool is_retired() const { return retired_; }
  void retire() { retired_ = true; }
  engine::Oracle& process() const { return *oracle_; }

 private:
  wire::PrepareT request_for(std::uint64_t max_bytes, std::uint32_t halvings) const;
  std::optional<std::size_t> more_shares_for(const Outcome<>& prepared, const DeviceShare& device) const;
  async::Task<Outcome<wire::JudgedT>> judged(wire::JudgeT request);

  Case case_;
  engine::OraclePool::Taken oracle_;
  bool retired_ = false;
  bool varied_ = true;
  bool lacked_memory_ = false;      // in the last preparation
  std::uint64_t needed_bytes_ = 0;  // of a task that was too large for the last preparation; else 0
  wire::PreparedT facts_;
  Fd call_spec_;
  wire::CallSpecT spec_;
  std::uint32_t halvings_ = 0;
};

}  // namespace kw::verify
