#include "types/evidence.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

#include "base/core/text.h"
#include "types/struct_json.h"

namespace kw {
namespace json = boost::json;

json::value written(Element element) {
  if (std::isnan(element.value)) return "nan";
  if (std::isinf(element.value)) return element.value > 0 ? "inf" : "-inf";
  return element.value;
}

bool read(const json::value& from, Element& into) {
  if (from == "nan")
    into.value = std::numeric_limits<double>::quiet_NaN();
  else if (from == "inf")
    into.value = std::numeric_limits<double>::infinity();
  else if (from == "-inf")
    into.value = -std::numeric_limits<double>::infinity();
  else
    return struct_json::read(from, into.value);
  return true;
}

BOOST_DESCRIBE_STRUCT(InputTensor, (), (name, dtype, shape))
BOOST_DESCRIBE_STRUCT(InputFamily, (), (family, tensors, tensors_left_out))
BOOST_DESCRIBE_STRUCT(OutputErrors, (),
                      (output, dtype, shape, max_abs_error, max_rel_error, mismatched_share, rtol, atol,
                       max_error_over_limit, reference_loss))
BOOST_DESCRIBE_STRUCT(EvidenceTrial, (),
                      (index, path, purpose, inputs, weights, recording, passed, error_class, max_abs_error,
                       max_rel_error, mismatched_share, max_error_over_limit, outputs, outputs_left_out))
BOOST_DESCRIBE_STRUCT(Neighbour, (), (index, expected, actual, wrong))
BOOST_DESCRIBE_STRUCT(ValueSummary, (), (min, max, nan_count, infinite_count))
BOOST_DESCRIBE_STRUCT(MismatchEvidence, (),
                      (trial, output, index, expected, actual, neighbours, expected_values, actual_values))
BOOST_DESCRIBE_STRUCT(EvidenceLaunch, (),
                      (recording, position, stream, source, name, whose, grid, block, start_ms, time_ms))
BOOST_DESCRIBE_STRUCT(DecoyCheck, (), (name, outcome))
BOOST_DESCRIBE_STRUCT(EmptyAnswer, (), (name, passes))
BOOST_DESCRIBE_STRUCT(Certificate, (), (input_sets, answers))
BOOST_DESCRIBE_STRUCT(AuditCheck, (), (name, outcome, trials))
BOOST_DESCRIBE_STRUCT(ReplayClocks, (), (device_ms, host_ms, tolerated_ms, marked_ms, tolerated_marked_ms))
BOOST_DESCRIBE_STRUCT(ClockCheck, (), (calls, device_ms, device_source, supervisor_ms, tolerated_ms, replays))
BOOST_DESCRIBE_STRUCT(EvidenceRecord, (),
                      (inputs, moved_bytes, trials, trials_left_out, first_mismatch, launches,
                       launches_left_out, decoys, certificate, audits, clock_check))

namespace {

// The parts of max_evidence_bytes. Their sum leaves room for the names of the record's own fields.
constexpr std::size_t max_text_bytes = 200;
constexpr std::size_t kept_text_bytes = 160;  // of a longer text, before the note of its length
constexpr std::size_t max_dimensions = 64;
constexpr std::size_t max_families = 16;
constexpr std::size_t max_tensors = 256;  // of a family, and of the outputs of one trial
constexpr std::size_t max_input_bytes = std::size_t{16} << 10;
constexpr std::size_t max_trial_bytes = std::size_t{96} << 10;
constexpr std::size_t max_output_bytes = std::size_t{12} << 10;  // of one trial
constexpr std::size_t max_neighbour_bytes = std::size_t{12} << 10;
constexpr std::size_t max_launch_bytes = std::size_t{88} << 10;
constexpr std::size_t max_check_bytes = std::size_t{8} << 10;  // of decoys, answers, and audits, each

void clean(std::string& text) {
  text = to_plain_text(text);
  if (text.size() > max_text_bytes) text = shorten(text, kept_text_bytes);
}

// Returns how many elements go.
template <typename T>
std::size_t limit(std::vector<T>& list, std::size_t most) {
  const std::size_t gone = list.size() - std::min(list.size(), most);
  list.resize(list.size() - gone);
  return gone;
}

template <typename T>
std::size_t bytes_of(const T& value) {
  return json::serialize(struct_json::written(value)).size() + 1;  // with its comma
}

// Keeps the elements at the front whose JSON has at most so many bytes; returns how many go.
template <typename T>
std::size_t cut(std::vector<T>& list, std::size_t max_bytes) {
  std::size_t bytes = 0;
  std::size_t kept = 0;
  for (; kept < list.size(); ++kept) {
    bytes += bytes_of(list[kept]);
    if (bytes > max_bytes) break;
  }
  const std::size_t gone = list.size() - kept;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(kept), list.end());
  return gone;
}

void bound_inputs(std::vector<InputFamily>& families) {
  std::size_t room = max_input_bytes;
  limit(families, max_families);
  for (InputFamily& each : families) {
    clean(each.family);
    each.tensors_left_out += limit(each.tensors, max_tensors);
    for (InputTensor& tensor : each.tensors) {
      clean(tensor.name);
      clean(tensor.dtype);
      limit(tensor.shape, max_dimensions);
    }
    each.tensors_left_out += cut(each.tensors, room / 2);
    room -= std::min(room, bytes_of(each));
  }
  cut(families, max_input_bytes);
}

void bound_outputs(EvidenceTrial& trial) {
  clean(trial.inputs);
  clean(trial.weights);
  trial.outputs_left_out += limit(trial.outputs, max_tensors);
  for (OutputErrors& each : trial.outputs) {
    clean(each.output);
    clean(each.dtype);
    limit(each.shape, max_dimensions);
  }
  trial.outputs_left_out += cut(trial.outputs, max_output_bytes);
}

// Wrong trials come first, then those that are not timed.
std::pair<int, std::size_t> importance(const EvidenceTrial& trial) {
  return {!trial.passed ? 0 : trial.purpose != TrialPurpose::timing ? 1 : 2, trial.index};
}

void bound_trials(EvidenceRecord& record) {
  std::ranges::for_each(record.trials, bound_outputs);
  std::ranges::sort(record.trials, {}, importance);
  record.trials_left_out += cut(record.trials, max_trial_bytes);
  std::ranges::sort(record.trials, {}, &EvidenceTrial::index);
}

void bound_mismatch(MismatchEvidence& mismatch) {
  clean(mismatch.output);
  limit(mismatch.index, max_dimensions);
  for (Neighbour& each : mismatch.neighbours) limit(each.index, max_dimensions);
  cut(mismatch.neighbours, max_neighbour_bytes);
}

void bound_launches(EvidenceRecord& record) {
  for (EvidenceLaunch& each : *record.launches) {
    clean(each.name);
    if (each.whose) clean(*each.whose);
    limit(each.grid, 3);
    limit(each.block, 3);
  }
  record.launches_left_out += cut(*record.launches, max_launch_bytes);
}

template <typename Check>
void bound_checks(std::vector<Check>& checks) {
  for (Check& each : checks) clean(each.name);
  cut(checks, max_check_bytes);
}

}  // namespace

EvidenceRecord bounded(EvidenceRecord record) {
  bound_inputs(record.inputs);
  bound_trials(record);
  if (record.first_mismatch) bound_mismatch(*record.first_mismatch);
  if (record.launches) bound_launches(record);
  bound_checks(record.decoys);
  if (record.certificate) bound_checks(record.certificate->answers);
  bound_checks(record.audits);
  return record;
}

json::value written(const EvidenceRecord& record) {
  json::object object{{"schema", evidence_schema}};
  for (auto& field : struct_json::fields_of(record)) object.emplace(field.key(), std::move(field.value()));
  return object;
}

bool read(const json::value& from, EvidenceRecord& into) {
  const json::object* object = from.if_object();
  const json::value* schema = object != nullptr ? object->if_contains("schema") : nullptr;
  if (schema == nullptr || *schema != evidence_schema) return false;
  EvidenceRecord record;
  struct_json::read_fields(*object, record);
  into = bounded(std::move(record));
  return true;
}

}  // namespace kw
