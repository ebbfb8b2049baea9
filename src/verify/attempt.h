// One try at one verdict. Its steps answer whether to go on; where they say no, the verdict stands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/oracle.h"
#include "engine/runner.h"
#include "schema/job.h"
#include "verify/context.h"

namespace kw::verify {

enum class Step { go_on, ended };

class Attempt {
 public:
  Attempt(Context& context, const Job& job);

  // Runs the whole of it, and gives everything back.
  async::Task<> run();

  bool stopped() const { return stopped_; }
  Verdict& verdict() { return verdict_; }

 private:
  // The two ways (cpu_path.cpp, cuda_path.cpp).
  async::Task<Step> on_cpu();
  async::Task<Step> on_cuda();

  // Shared steps.
  async::Task<Step> take_oracle();
  async::Task<Step> prepare(std::uint64_t max_bytes, std::uint32_t halvings);
  async::Task<Step> start_runner(std::shared_ptr<engine::ForkServer> server);
  async::Task<Step> start_gpu_runner();
  Step take_worker(Result<std::unique_ptr<engine::Worker>> worker);
  async::Task<Step> load(wire::Mode mode, wire::Weights weights, std::string poison);
  async::Task<Step> draw(std::uint32_t trial);
  async::Task<Step> call(std::uint32_t trial, bool skip_launches, std::chrono::milliseconds budget);
  async::Task<Step> judge(std::uint32_t trial);
  async::Task<Step> trial(std::uint32_t trial, std::chrono::milliseconds budget);
  async::Task<bool> right_without_launches();
  async::Task<> end_runner();

  // CPU.
  async::Task<Step> compile_only(wire::Weights weights);
  async::Task<Step> fit_shapes();
  async::Task<Step> interpret(wire::Weights weights);
  async::Task<Step> interpret_at_size(wire::Weights weights, bool* too_slow);

  // CUDA.
  async::Task<Step> try_weights(wire::Weights weights);
  async::Task<Step> time_both();

  Step refused_by_candidate(const engine::Refusal& refusal, Stage stage);
  Step refused_by_oracle(const engine::Refusal& refusal, Stage stage);
  void record_launches();
  void count();
  void finish_correct();
  async::Deadline own_deadline(std::chrono::milliseconds at_most) const;
  async::Deadline oracle_deadline(std::chrono::milliseconds at_most) const;

  Context& context_;
  const Job& job_;
  Verdict verdict_;
  bool stopped_ = false;

  std::unique_ptr<engine::Oracle> oracle_;
  std::unique_ptr<engine::Runner> runner_;
  engine::Lease lease_;
  async::Deadline deadline_;

  wire::PreparedT prepared_;
  Fd call_spec_;
  wire::CallSpecT spec_;
  std::uint64_t init_seed_ = 0;
  std::uint32_t halvings_ = 0;
  wire::LoadedT loaded_;
  wire::ReturnedT returned_;
  std::uint64_t trial_seed_ = 0;
  Fd arena_;  // of the next call, where it is drawn already
  std::uint64_t launches_seen_ = 0;
  bool native_code_ = false;
  bool decoy_ = false;
  bool retire_oracle_ = false;
};

}  // namespace kw::verify
