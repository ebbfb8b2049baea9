// The evidence record of a verdict: the facts on which the verdict rests, for a person who checks it.
// docs/verdict.md describes the fields. A verdict without a record has none stored; no field of it is zero.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/words.h"
#include "types/enums.h"

namespace kw {

inline constexpr const char* evidence_schema = "kernelwright.evidence/1";
inline constexpr std::size_t max_evidence_bytes = std::size_t{256} << 10;  // of a record as JSON

// A number that may be nan or infinite, written as "nan", "inf" and "-inf" then.
struct Element {
  double value = 0;
};
boost::json::value written(Element element);
bool read(const boost::json::value& from, Element& into);

BOOST_DEFINE_ENUM_CLASS(TrialPath, call, replay)

// recording: a call under the recorder. kept_result: the result of the first call, judged after the second.
BOOST_DEFINE_ENUM_CLASS(TrialPurpose, correctness, recording, kept_result, timing, audit)

// Of a check that runs the candidate in another way.
BOOST_DEFINE_ENUM_CLASS(CheckOutcome, right, wrong, failed, not_run)

// replay: by the replayer or the supervisor. claim: by the candidate's own process, which could falsify it.
BOOST_DEFINE_ENUM_CLASS(FactSource, replay, claim)

struct InputTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
};

// A kind of inputs that trials draw.
struct InputFamily {
  std::string family;  // "given": as the task draws them
  std::vector<InputTensor> tensors;
  std::size_t tensors_left_out = 0;
};

// The errors of one tensor of the outputs.
struct OutputErrors {
  std::string output;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::optional<double> max_abs_error;
  std::optional<double> max_rel_error;
  std::optional<double> mismatched_share;
  std::optional<double> rtol;  // null: the values must be equal
  std::optional<double> atol;
  std::optional<Element>
      max_error_over_limit;              // error over the allowed error, of the value where it is largest
  std::optional<double> reference_loss;  // largest error of the reference against float64
};

// One judgement of outputs.
struct EvidenceTrial {
  std::size_t index = 0;  // from 0, in the order of the judgements
  TrialPath path = TrialPath::call;
  TrialPurpose purpose = TrialPurpose::correctness;
  std::string inputs;                    // the family
  std::string weights;                   // as requested: "automatic", "constructed"
  std::optional<std::size_t> recording;  // the number of the replayed recording
  bool passed = false;
  std::optional<ErrorClass> error_class;
  std::optional<double> max_abs_error;  // the worst of all outputs
  std::optional<double> max_rel_error;
  std::optional<double> mismatched_share;
  std::optional<Element> max_error_over_limit;
  std::vector<OutputErrors> outputs;  // empty if the form was wrong, so that no value was compared
  std::size_t outputs_left_out = 0;
};

struct Neighbour {
  std::vector<std::int64_t> index;
  Element expected;
  Element actual;
  bool wrong = false;
};

// The values of one tensor.
struct ValueSummary {
  std::optional<double> min;  // of the finite values
  std::optional<double> max;
  std::uint64_t nan_count = 0;
  std::uint64_t infinite_count = 0;
};

struct MismatchEvidence {
  std::size_t trial = 0;  // its index
  std::string output;
  std::vector<std::int64_t> index;
  Element expected;
  Element actual;
  std::vector<Neighbour> neighbours;  // along the last dimension, the mismatch itself included
  std::optional<ValueSummary> expected_values;
  std::optional<ValueSummary> actual_values;
};

struct EvidenceLaunch {
  std::optional<std::size_t> recording;  // null: a call that was not recorded
  std::optional<std::size_t> position;   // among the operations of the recording
  std::optional<std::size_t> stream;     // number within the recording; 0 is the caller's
  FactSource source = FactSource::claim;
  std::string name;
  std::optional<std::string> whose;
  std::vector<std::uint64_t> grid;
  std::vector<std::uint64_t> block;
  // After the call's begin. Always null so far: launches are timed one after another, in a replay that has
  // neither the gaps nor the overlaps of the call.
  std::optional<double> start_ms;
  std::optional<double> time_ms;
};

// A call or replay without launches; "right" proves that the launches are decoys.
struct DecoyCheck {
  std::string name;  // docs/verdict.md lists the names
  CheckOutcome outcome = CheckOutcome::not_run;
};

// An answer that needs no computation, tried on several input sets.
struct EmptyAnswer {
  std::string name;  // "zeros", "constant", "echo", "stale"
  bool passes = false;
};

struct Certificate {
  std::size_t input_sets = 0;
  std::vector<EmptyAnswer> answers;
};

struct AuditCheck {
  std::string name;  // "unrecorded_calls", "further_calls", "kept_result"
  CheckOutcome outcome = CheckOutcome::not_run;
  std::size_t trials = 0;  // judged
};

// The timed replays of a kernel by the clocks of the replayer.
struct ReplayClocks {
  double device_ms = 0;     // the mean of the middle half, by the device's events
  double host_ms = 0;       // the least, by the host's clock, from the gate to the end of the wait
  double tolerated_ms = 0;  // of host_ms, with these device_ms
  std::optional<double> marked_ms = {};            // by the host's clock between its marks; none: not seen
  std::optional<double> tolerated_marked_ms = {};  // of marked_ms, with these device_ms
};

// The same calls by two clocks.
struct ClockCheck {
  std::size_t calls = 0;
  double device_ms = 0;                          // a call, by the device's events
  FactSource device_source = FactSource::claim;  // of device_ms
  double supervisor_ms = 0;  // a call, by the supervisor's clock; its noise can make short calls negative
  double tolerated_ms = 0;   // of supervisor_ms, with these device_ms
  std::optional<ReplayClocks> replays = {};  // none if the candidate's process was timed
};

struct EvidenceRecord {
  std::vector<InputFamily> inputs;
  std::optional<std::uint64_t> moved_bytes;  // the least number of bytes that a call reads and writes
  std::vector<EvidenceTrial> trials;
  std::size_t trials_left_out = 0;
  std::optional<MismatchEvidence> first_mismatch;
  std::optional<std::vector<EvidenceLaunch>> launches;  // null: not observed
  std::size_t launches_left_out = 0;
  std::vector<DecoyCheck> decoys;
  std::optional<Certificate> certificate;
  std::vector<AuditCheck> audits;
  std::optional<ClockCheck> clock_check;
};

// A record of at most max_evidence_bytes: texts are cut and cleaned, and the ends of lists are counted in
// place of their elements. Wrong trials are kept before right ones, and timed ones go first.
EvidenceRecord bounded(EvidenceRecord record);

// Of a bounded record; "schema" comes first.
boost::json::value written(const EvidenceRecord& record);
// False for another schema. The record read is bounded.
bool read(const boost::json::value& from, EvidenceRecord& into);

}  // namespace kw
