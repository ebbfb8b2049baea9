// Verdict: the result of judging a candidate on a task. Written as `kernelwright.verdict/1`;
// docs/verdict.schema.json states the form that to_json is held to.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "types/enums.h"
#include "types/evidence.h"
#include "types/generality.h"
#include "types/sanitized.h"

namespace kw {

// Verdict: the result of judging a candidate on a task. Written as `kernelwright.verdict/1`;
// docs/verdict.schema.json states the form of to_json.
inline constexpr const char* verdict_schema = "kernelwright.verdict/1";

struct ErrorDetail {
  std::optional<std::string> file;
  std::optional<std::int64_t> line;
  std::optional<std::string> compiler_text;
  std::optional<std::string> traceback;  // without frames of this program
};

struct Tolerance {
  std::string name;  // "kernelbench", "seed", "strict", "custom"
  std::optional<double> rtol;
  std::optional<double> atol;
};

struct FirstMismatch {
  std::string output;
  std::vector<std::int64_t> index;
  double expected = 0;  // nan and infinities are written as "nan", "inf" and "-inf"
  double actual = 0;
};

// The errors of one output over all trials, in units of what the reference itself loses against float64.
struct ErrorRatio {
  std::string output = {};
  std::optional<double> unit = {};
  std::optional<double> error_ratio = {};     // the largest error over the unit
  std::optional<NoErrorRatio> why_null = {};  // set exactly where error_ratio is null
};

struct Comparison {
  Tolerance tolerance;
  std::size_t trials = 0;
  std::optional<double> max_abs_error;
  std::optional<double> max_rel_error;
  std::optional<double> mismatched_share;
  std::optional<double> error_ratio;                 // the largest of all outputs
  std::optional<NoErrorRatio> error_ratio_why_null;  // null also in verdicts of earlier versions
  std::vector<ErrorRatio> error_ratios;
  std::optional<FirstMismatch> first_mismatch;
  std::vector<std::string> findings;  // other strides, an error that TF32 explains, ...
};

struct Clocks {
  std::optional<double> sm_mhz;
  std::optional<double> memory_mhz;
  std::optional<std::string> throttle;  // the driver's reasons, or null
};

using Interval = std::pair<double, double>;  // of a median, in milliseconds

// The forward or the backward pass of the calls.
struct Segment {
  double reference_time_ms = 0;
  double kernel_time_ms = 0;
  std::optional<double> speedup;  // null: the kernel's time read zero
};

// The candidate's process names the place between its two passes, so that work can be shifted from one to the
// other. Only the whole call's time is judged and rewarded.
struct Segments {
  Segment forward;
  Segment backward;
};

struct Timing {
  std::optional<std::string> instrument;  // "replay", "cuda-events", ...
  std::vector<double> reference_samples_ms;
  std::vector<double> kernel_samples_ms;
  std::optional<Interval> reference_interval_ms;
  std::optional<Interval> kernel_interval_ms;
  std::optional<double> floor_ms;         // of an empty recording, already subtracted from each sample
  std::optional<double> call_speedup;     // a claim: the candidate's process measures it
  std::optional<double> compile_time_ms;  // of the reference under torch.compile, if requested
  std::optional<double> roofline_share;
  std::optional<Clocks> clocks;
  std::optional<std::string> why_null;  // set exactly where speedup is null; the medians are the *_time_ms
  std::optional<Segments> segments;     // beside a speedup, where gradients were judged
  std::optional<std::string> segments_why_null;  // the reason where they were, and there are none
};

struct Launch {
  std::string name;
  std::optional<std::string> whose;  // "candidate", "library", ...
  std::optional<std::string> cubin_sha256;
  std::vector<std::uint64_t> grid;
  std::vector<std::uint64_t> block;
  std::optional<std::int64_t> registers;
  std::optional<std::int64_t> spills;
  std::optional<std::int64_t> shared_bytes;
  std::optional<double> time_ms;
};

// Of one call, by the origin of its kernels; the sum is 1.
struct DeviceTimeShare {
  double triton = 0;  // attested Triton kernels of the candidate
  double native = 0;  // kernels that the candidate built from CUDA or C++
  double library = 0;
  double unattested = 0;  // of unknown origin
};

// The method of judging on a GPU.
struct ReplayFacts {
  std::size_t recordings = 0;
  std::size_t operations = 0;  // of the first of them
  std::size_t streams = 0;
  std::size_t downloads = 0;           // copies to the host within the call
  std::size_t unjoined = 0;            // operations that the call does not wait for
  std::size_t orders = 0;              // of the operations that may give different results; 1: a chain
  std::optional<std::string> why_not;  // set if the candidate was judged in-process instead
};

struct Call {
  std::string entry;
  std::string convention;              // "module", "wrapper"
  std::vector<std::string> arguments;  // how each parameter was filled: "x=input:0", "w=weight:fc.weight"
  std::string weights;                 // "constructed", "loaded", "by name", "in order", "none"
  std::vector<std::string> input_dtypes{};  // of the tensors among the inputs, each once, sorted
};

struct Isolation {
  IsolationLevel level = IsolationLevel::process;
  std::vector<std::string> layers;
};

struct Environment {
  std::optional<std::string> gpu;  // as the driver names it
  std::optional<std::string> driver;
  std::optional<std::string> cuda;
  std::optional<std::string> torch;
  std::optional<std::string> triton;
  std::string program_version;
  std::string protocol;
};

struct Verdict {
  std::string id;
  std::string task_id;
  std::size_t sample_number = 0;  // occurrence of the task in its source, from 0
  std::string candidate_sha256;
  std::optional<std::string> work;  // key of the judged work: see verify/api/shared_verifier.h
  std::optional<std::string> kernel_name;

  Status status = Status::error;
  Stage stage = Stage::parse;
  std::optional<Fault> fault;
  std::optional<std::string> error;
  std::optional<ErrorClass> error_class;
  std::optional<ErrorDetail> error_detail;

  std::optional<double> speedup;
  std::optional<double> reference_time_ms;
  std::optional<double> kernel_time_ms;

  std::optional<bool> counts;  // of a correct one; null elsewhere
  std::optional<CountsReason> counts_reason;

  std::optional<Shapes> shapes;
  std::optional<Trust> trust;
  std::optional<Isolation> isolation;
  std::optional<Comparison> comparison;
  std::optional<Generality> generality;  // null: only a right candidate is tried on varied inputs
  std::optional<std::vector<std::string>> gradients;     // that were judged with the outputs; null: none
  std::optional<std::vector<SanitizerCheck>> sanitized;  // null: not asked for, or not reached
  std::optional<std::size_t> judged_calls;  // of the candidate's own code, beside replays; null: not counted
  Timing timing;
  std::optional<std::vector<Launch>> launches;  // null: launches were not observed
  std::optional<double> triton_share;           // of device time, in attested Triton kernels of the candidate
  std::optional<DeviceTimeShare> device_time_share;  // of `launches`; null: not timed one by one
  std::optional<ReplayFacts> replay;
  std::optional<Call> call;
  std::optional<std::string> printed;      // the end of the output of the candidate's process; null: none
  std::optional<EvidenceRecord> evidence;  // null: not recorded
  Environment environment;
  std::map<Stage, double> stages_ms;
  boost::json::object further;  // unknown fields of a verdict from a newer service
};

// True, false (incorrect, failed) or null (skipped, error): the comparison only.
std::optional<bool> correctness(const Verdict& verdict);

// Correct, without a finding that the result proves nothing. The stop rule, reward, tables and filters use
// it.
bool correct_and_counts(const Verdict& verdict);

// False if incorrect; null if unknown. fast_2 includes 2.0, fast_1 does not include 1.0.
std::optional<bool> fast_1(const Verdict& verdict);
std::optional<bool> fast_2(const Verdict& verdict);

// The speed-up, if it has at least this trust: replay over in-process over the interpreter, which measures
// no speed. In-process times are claims: `speedup` is null beside them, and this computes it from them.
std::optional<double> speedup_trusted(const Verdict& verdict, Trust least);

// Every field of the schema, null if it does not apply; "schema" comes first, unknown fields last.
boost::json::object to_json(const Verdict& verdict);

// Ignores unknown fields; a caller that must keep them keeps the object.
Result<Verdict> verdict_from_json(const boost::json::object& object);

// An additional field with the name of a verdict's field goes into "carried".
boost::json::object output_object(const Verdict& verdict, const boost::json::object& carried);

}  // namespace kw
