// Values that the parts of an attempt return: evidence and times, or the reason why the attempt ends early,
// with whose fault it is. Only the verdict writer turns them into a verdict.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/async/wait.h"
#include "types/verdict.h"
#include "verify/judge/protocol.h"
#include "verify/workers/worker.h"

namespace kw::verify {

// The reason why an attempt ends early, and whose fault it is.
struct Blame {
  Stage stage = Stage::prepare;
  Status status = Status::error;
  std::optional<Fault> fault = {};
  ErrorClass error_class = ErrorClass::infrastructure;
  std::string error = {};
  std::optional<ErrorDetail> detail = {};
  std::string times_void = {};  // the reason why earlier times are invalid; empty: they are valid
  std::string doubt = {};       // how neighbours may have caused it; empty: they have not
  std::string kernel = {};  // of a call that waits: whose launch failed on the device, as its process says
};

struct Stopped {};  // no verdict

using Ended = std::variant<Stopped, Blame>;

// The value of a part, or the reason why the attempt ends without it.
template <typename T = void>
using Outcome = std::expected<T, Ended>;

// Where a runner failed or was lost.
struct RunnerLoss {
  Stage stage = Stage::run;
  Device device = Device::cpu;
  bool in_launch = false;
  std::string printed;                                    // the end of its output
  std::string_view source;                                // of the candidate
  std::optional<std::chrono::milliseconds> timeout = {};  // the option's limit, if it has passed
};
// The kernel's fault, whatever its process says: it may speak for the candidate from the import on. A missing
// feature that the source may use, and the interpreter's deadline, end as `skipped` without a fault.
Blame blame_candidate(const engine::WorkerFailure& refusal, const RunnerLoss& where);

// An oracle failed or was lost: the fault of the task or of the infrastructure. `timeout` is the option's
// limit, if it was the one of this step: the user can raise it.
Blame blame_task(const engine::WorkerFailure& refusal, Stage stage,
                 std::optional<std::chrono::milliseconds> timeout = {});

Blame blame_infrastructure(Stage stage, const Error& error);
// A process could not be started: a fault of the infrastructure, unless a stop was requested.
std::unexpected<Ended> could_not_start(Stage stage, const Error& error, const async::Stop& stop);

// How other processes on the machine may have caused the failure of a process; empty: they have not. Only the
// supervisor's own observations count, and a lack of memory: whether a candidate tells the truth about one
// shows when it is judged alone.
std::string doubt_about(const engine::WorkerFailure& refusal);
// The same for the words that say why a process did not start, or why no replay was possible. A candidate can
// forge the latter, and gets one more try alone.
std::string doubt_about(std::string_view words);

// The oracle found the result wrong.
Blame blame_result(const wire::JudgedT& judged);

// The failure in words, without blame.
std::string refusal_words(const engine::WorkerFailure& refusal);

// True if a stop caused the failure; then there is no verdict.
bool was_stopped(const engine::WorkerFailure& refusal);

// Whether the reason holds at reduced shapes. A wrong result proves nothing there, since the candidate may
// support the given shape only.
bool stands_at_reduced_shapes(ErrorClass error_class, std::string_view error);

// Values that the parts of an attempt return. Only the verdict writer turns them into a verdict.
struct Judgement {
  wire::JudgedT judged;
  std::size_t trials = 0;    // judged so far, including this one; 0: not one of the trials
  std::string finding = {};  // in addition to the oracle's own
  TrialPurpose purpose = TrialPurpose::correctness;
  std::optional<std::size_t> recording = {};  // the replayed one; none: a call

  // Whether it judges what a call of the candidate's own code returned, as one of the trials.
  bool is_of_call() const { return !recording && trials > 0; }
};

// Launches for the evidence record.
struct LaunchList {
  std::vector<EvidenceLaunch> launches = {};
  std::size_t left_out = 0;  // launches whose facts did not fit a message
};

struct Evidence {
  wire::Weights weights = wire::Weights::automatic;
  std::optional<wire::PreparedT> prepared = {};      // at smaller shapes: earlier comparisons are void
  std::optional<wire::LoadedT> loaded = {};          // how the candidate is called
  std::optional<std::vector<Launch>> launches = {};  // of the first call
  std::optional<LaunchList> launch_list = {};        // of the recordings, else of the first call
  std::vector<Judgement> judgements = {};            // in their order
  std::vector<DecoyCheck> decoys = {};
  std::vector<AuditCheck> audits = {};
  std::optional<Generality> generality = {};  // on varied inputs
  std::string why_not_replayed = {};          // why replays prove nothing; empty: they do, or none was made
  bool decoy = false;                         // a result is right without the candidate's launches
  std::optional<double> call_speedup = {};    // of whole calls: a claim
  std::optional<Ended> ended = {};
};

// Of one side, one for each replay.
struct PassSamples {
  std::vector<double> forward_ms = {};
  std::vector<double> backward_ms = {};
};

struct SegmentSamples {
  PassSamples reference = {};
  PassSamples kernel = {};
};

struct Times {
  std::string instrument = {};
  std::vector<double> reference_ms = {};
  std::vector<double> kernel_ms = {};
  std::optional<double> floor_ms = {};     // subtracted from each sample already
  std::optional<double> compiled_ms = {};  // of the reference under torch.compile
  std::optional<Clocks> clocks = {};
  std::optional<ClockCheck> clock_check = {};
  std::optional<ReplayClocks> replay_clocks = {};  // of the kernel
  std::vector<std::string> findings = {};          // in addition to those of the judgements
  std::string why_none = {};                       // the reason if a side has no sample
  std::optional<SegmentSamples> segments = {};     // where gradients are judged
  std::string why_no_segments = {};                // the reason if they are, and there are none
  Evidence seen = {};                              // the judgements of timed calls, and why they ended
};

}  // namespace kw::verify
