// One try at one verdict. Its steps answer whether to go on; where they say no, the verdict stands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schema/job.h"
#include "verify/candidate_process.h"
#include "verify/candidate_replays.h"
#include "verify/context.h"
#include "verify/device_share.h"
#include "verify/ended.h"
#include "verify/oracle_side.h"
#include "verify/player.h"

namespace kw::verify {

enum class Step { go_on, ended };
struct Attesting;
class ReferenceReplays;

class Attempt {
 public:
  // Under the settings of this job; `stop` is its own.
  Attempt(Context& context, const Job& job, Settings settings, async::Stop& stop);

  // Runs the whole of it, and gives everything back.
  async::Task<> run();

  bool stopped() const { return stopped_; }
  Verdict& verdict() { return verdict_; }

 private:
  struct CallOptions {
    bool skip_launches = false;
    bool timed = false;
  };

  // The two ways (cpu_path.cpp, cuda_path.cpp).
  async::Task<Step> on_cpu();
  async::Task<Step> on_cuda();

  // Shared steps.
  async::Task<Step> prepare(std::uint64_t max_bytes, std::uint32_t halvings);
  async::Task<Step> start_runner(std::shared_ptr<engine::ForkServer> server);
  async::Task<Step> start_gpu_runner();
  Step take_worker(Result<std::unique_ptr<engine::Worker>> worker, std::shared_ptr<engine::ForkServer> from);
  async::Task<Step> load(wire::Mode mode, wire::Weights weights, std::string poison);
  async::Task<Step> draw(std::uint32_t trial);
  async::Task<Step> call(std::uint32_t trial, CallOptions options, std::chrono::milliseconds budget);
  async::Task<Step> judge(std::uint32_t trial);
  async::Task<Step> trial(std::uint32_t trial, std::chrono::milliseconds budget);
  async::Task<bool> right_without_launches();
  async::Task<> end_runner();

  // CPU.
  async::Task<Step> compile_only(wire::Weights weights);
  async::Task<Step> fit_shapes();
  async::Task<Step> interpret(wire::Weights weights);
  async::Task<Step> interpret_at_size(wire::Weights weights, bool* too_slow);

  // CUDA (cuda_path.cpp).
  async::Task<Step> try_weights(wire::Weights weights);
  async::Task<Step> first_calls();
  async::Task<Step> finish_replayed(wire::Weights weights);
  async::Task<Step> prepare_alone();

  ReferenceReplays reference_replays();
  async::Task<> start_reference();
  async::Task<Step> find_launches();

  // The candidate's replays (replay_path.cpp, replay_timing.cpp).
  async::Task<Step> try_recorded(wire::Weights weights);
  async::Task<Step> live_and_recorded();
  async::Task<Step> record_call(std::uint32_t trial);
  async::Task<Outcome<std::string>> end_runner_and_load();
  async::Task<Step> replay_trials();
  void keep_recording(const engine::Recorded& recorded, std::size_t number);
  async::Task<Step> audit(wire::Weights weights);
  bool is_audited() const;
  async::Task<Step> time_replays();
  async::Task<Step> sample_replays();
  async::Task<Step> time_reference_by_events();
  async::Task<Step> compare_with_outside_clock();
  async::Task<Step> time_compiled_reference();
  void forget_times(const char* why);
  void take_times();

  // What cannot be replayed (in_process.cpp).
  async::Task<Step> try_in_process(wire::Weights weights);
  async::Task<Step> time_in_process();
  async::Task<Step> clock_calls(double* least_wall_ms);
  async::Task<Step> timed_calls(std::uint32_t count);
  void bound_by_outside_clock(double least_wall_ms);
  async::Task<> time_whole_calls();

  Step end(const Ended& ended);
  void record_launches();
  void count();
  void finish_correct();
  async::Deadline own_deadline(std::chrono::milliseconds at_most) const;

  Context& context_;
  const Job& job_;
  Settings settings_;
  async::Stop& stop_;
  Verdict verdict_;
  bool stopped_ = false;

  OracleSide oracle_;
  CandidateProcess candidate_;
  CandidateReplays replays_;
  DeviceShare device_;
  async::Deadline deadline_;

  wire::LoadedT loaded_;
  wire::ReturnedT returned_;
  OracleSide::Drawn drawn_;  // the inputs of the next call, or, without their arena, of the last
  std::uint64_t launches_seen_ = 0;
  bool native_code_ = false;
  bool decoy_ = false;

  std::shared_ptr<Player> reference_;
  std::string reference_why_not_;
  std::string why_not_replayed_;
  std::uint32_t live_calls_ = 0;
  std::shared_ptr<Attesting> attesting_;  // from the first replay on
  std::size_t own_launches_ = 0;
};

}  // namespace kw::verify
