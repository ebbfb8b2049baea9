// One attempt at a verdict: the whole sequence, with all that it holds, and the static checks before it.
#pragma once

#include <functional>
#include <optional>

#include "types/job.h"
#include "verify/judge/blame.h"
#include "verify/judge/context.h"
#include "verify/judge/live_calls.h"
#include "verify/judge/replays.h"
#include "verify/judge/tool_check.h"
#include "verify/judge/tries.h"
#include "verify/judge/verdict_writer.h"

namespace kw::verify {

// Refuses a candidate by its syntax tree alone: a forbidden import, no entry point, or text that is not
// Python.
std::optional<Blame> examine_statically(const Job& job);

class InProcess;
class ReplayPath;

// One attempt at a verdict: the whole sequence, with its processes and leases.
class Attempt {
 public:
  // `settings` are those of this job, and `stop` stops this job alone.
  Attempt(Context& context, const Job& job, Settings settings, async::Stop& stop,
          const Tries::Earlier& earlier = {});

  // Runs the sequence and releases every process and lease.
  async::Task<> run();

  // True after a stop: the verdict is not valid then.
  bool stopped() const { return case_.stop.requested(); }
  Verdict& verdict() { return writer_.verdict(); }
  Tries::Result result() const;
  // Adds the attempt itself to its row of the timeline.
  void show(Timeline::Clock::time_point since) const;

 private:
  using Judge = std::function<async::Task<Evidence>(wire::Weights)>;

  bool is_refused_statically();
  async::Task<Outcome<>> take_oracle();
  async::Task<> take_device();
  async::Task<> take_device_alone();
  async::Task<> judge();
  async::Task<> on_cpu();
  async::Task<> on_cuda();
  async::Task<> find_reference();
  async::Task<> resume_reference();
  async::Task<Evidence> under_either_weights(Judge judge);
  async::Task<Evidence> judge_on_gpu(ReplayPath& replay, InProcess& in_process, wire::Weights weights);
  async::Task<> finish_replayed(ReplayPath& replay, InProcess& in_process, wire::Weights weights);
  struct Varied {
    std::optional<Generality> generality = {};
    std::vector<std::string> unreplayed = {};  // families on which replays prove nothing
  };
  async::Task<Outcome<Varied>> vary_inputs(CandidateReplays& replays);
  async::Task<Outcome<FamilyAnswer>> replay_family(CandidateReplays& replays, FamilyQuestion asked,
                                                   std::vector<std::string>& unreplayed);
  async::Task<Outcome<Varied>> call_on_the_rest(Varied varied, InProcess& in_process, wire::Weights weights);
  async::Task<bool> sanitize(wire::Weights weights, const ToolCheck::Recordings& recordings);
  async::Task<bool> vary_shapes(wire::Weights weights);
  async::Task<> finish_in_process(InProcess& in_process, const Evidence& judged);

  Settings settings_;
  Tries::Earlier earlier_;
  Timeline::Row row_;
  bool is_alone_ = false;  // on the device, before any of the candidate's code ran
  VerdictWriter writer_;
  Case case_;
  OracleSide oracle_;
  bool lost_its_oracle_ = false;  // while the reference was in it
  LiveCalls calls_;
  DeviceShare device_;
  ReferenceReplays::Found reference_;
};

}  // namespace kw::verify
