#include "verify/judge/evidence_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace kw::verify {
namespace {

constexpr std::size_t most_right_timed_trials = 100;
constexpr const char* given = "given";

template <typename Number>
std::optional<double> unless_negative(Number value) {
  return value >= 0 ? std::optional<double>(value) : std::nullopt;
}

OutputErrors errors_of(const wire::OutputErrorsT& from) {
  OutputErrors errors;
  errors.output = from.output;
  errors.dtype = from.dtype;
  errors.shape = from.shape;
  errors.max_abs_error = from.max_abs_error;
  errors.max_rel_error = from.max_rel_error;
  errors.mismatched_share = from.mismatched_share;
  errors.rtol = unless_negative(from.rtol);
  errors.atol = unless_negative(from.atol);
  if (from.max_error_over_limit >= 0) errors.max_error_over_limit = Element{from.max_error_over_limit};
  errors.reference_loss = unless_negative(from.reference_loss);
  return errors;
}

EvidenceTrial trial_of(const Judgement& judgement, wire::Weights weights) {
  const wire::JudgedT& judged = judgement.judged;
  EvidenceTrial trial;
  trial.path = judgement.recording ? TrialPath::replay : TrialPath::call;
  trial.purpose = judgement.purpose;
  trial.inputs = given;
  trial.weights = weights == wire::Weights::constructed ? "constructed" : "automatic";
  trial.recording = judgement.recording;
  trial.passed = judged.right;
  trial.error_class = from_string<ErrorClass>(judged.error_class);
  trial.outputs_left_out = judged.outputs_left_out;
  for (const auto& each : judged.outputs)
    if (each) trial.outputs.push_back(errors_of(*each));
  if (trial.outputs.empty()) return trial;
  trial.max_abs_error = judged.max_abs_error;
  trial.max_rel_error = judged.max_rel_error;
  trial.mismatched_share = judged.mismatched_share;
  for (const OutputErrors& each : trial.outputs)
    if (each.max_error_over_limit &&
        (!trial.max_error_over_limit || each.max_error_over_limit->value > trial.max_error_over_limit->value))
      trial.max_error_over_limit = each.max_error_over_limit;
  return trial;
}

std::optional<ValueSummary> summary_of(const std::unique_ptr<wire::ValueSummaryT>& from) {
  if (!from) return {};
  ValueSummary summary;
  summary.nan_count = from->nan;
  summary.infinite_count = from->infinite;
  if (from->finite > 0) {
    summary.min = from->min;
    summary.max = from->max;
  }
  return summary;
}

MismatchEvidence mismatch_of(const wire::MismatchT& from) {
  MismatchEvidence mismatch;
  mismatch.output = from.output;
  mismatch.index = from.index;
  mismatch.expected.value = from.expected;
  mismatch.actual.value = from.actual;
  const std::size_t count =
      std::min({from.near_expected.size(), from.near_actual.size(), from.near_wrong.size()});
  for (std::size_t i = 0; i < count; ++i) {
    Neighbour& each =
        mismatch.neighbours.emplace_back(from.index, Element{from.near_expected[i]},
                                         Element{from.near_actual[i]}, static_cast<bool>(from.near_wrong[i]));
    if (!each.index.empty()) each.index.back() = from.near_from + static_cast<std::int64_t>(i);
  }
  mismatch.expected_values = summary_of(from.expected_values);
  mismatch.actual_values = summary_of(from.actual_values);
  return mismatch;
}

void add_tensors(const wire::ValueT& value, const std::string& name, std::vector<InputTensor>& tensors) {
  if (value.kind == wire::ValueKind::tensor && value.tensor)
    tensors.push_back({name, value.tensor->dtype, value.tensor->shape});
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (!value.items[i]) continue;
    const std::string key = i < value.keys.size() ? value.keys[i] : std::to_string(i);
    add_tensors(*value.items[i], fmt::format("{}[{}]", name, key), tensors);
  }
}

std::vector<InputTensor> tensors_of(const wire::CallSpecT& spec) {
  std::vector<InputTensor> tensors;
  if (!spec.inputs) return tensors;
  for (std::size_t i = 0; i < spec.inputs->items.size(); ++i) {
    if (!spec.inputs->items[i]) continue;
    const std::string name = i < spec.input_names.size() ? spec.input_names[i] : fmt::format("input {}", i);
    add_tensors(*spec.inputs->items[i], name, tensors);
  }
  return tensors;
}

}  // namespace

void EvidenceWriter::take_task(const wire::PreparedT& task) {
  has_task_ = true;
  judged_ = 0;
  record_.trials.clear();
  record_.trials_left_out = 0;
  record_.first_mismatch.reset();
  record_.certificate.reset();
  if (task.empty_answers.empty()) return;
  record_.certificate.emplace(task.certificate_sets);
  for (const std::string& name : task.empty_answers)
    record_.certificate->answers.push_back({name, std::ranges::count(task.passing_answers, name) > 0});
}

void EvidenceWriter::take(const Evidence& seen) {
  if (seen.launch_list) take_launches(*seen.launch_list);
  std::ranges::copy(seen.decoys, std::back_inserter(record_.decoys));
  std::ranges::copy(seen.audits, std::back_inserter(record_.audits));
  if (seen.loaded) weights_ = seen.weights;
  for (const Judgement& each : seen.judgements) take(each);
}

void EvidenceWriter::take(const Judgement& judgement) {
  const std::size_t index = judged_++;
  if (judgement.judged.right && judgement.purpose == TrialPurpose::timing &&
      record_.trials.size() >= most_right_timed_trials) {
    ++record_.trials_left_out;
    return;
  }
  EvidenceTrial& trial = record_.trials.emplace_back(trial_of(judgement, weights_));
  trial.index = index;
  if (judgement.judged.right || !judgement.judged.first_mismatch) return;
  record_.first_mismatch = mismatch_of(*judgement.judged.first_mismatch);
  record_.first_mismatch->trial = index;
}

void EvidenceWriter::take(const std::optional<ClockCheck>& check) {
  if (check) record_.clock_check = check;
}

void EvidenceWriter::take(const Provenance& found) {
  take_launches(found.launch_list);
  record_.decoys.push_back(found.decoy_check);
}

// The replayer's facts are kept where a later part of the attempt has claims only.
void EvidenceWriter::take_launches(const LaunchList& list) {
  auto is_recorded = [](const std::vector<EvidenceLaunch>& launches) {
    return !launches.empty() && launches.front().source == FactSource::replay;
  };
  if (record_.launches && is_recorded(*record_.launches) && !is_recorded(list.launches)) return;
  record_.launches = list.launches;
  record_.launches_left_out = list.left_out;
}

std::optional<EvidenceRecord> EvidenceWriter::finished(const wire::CallSpecT& spec) && {
  if (!has_task_) return {};
  record_.inputs = {{given, tensors_of(spec)}};
  record_.moved_bytes = spec.input_bytes + spec.output_bytes;
  return bounded(std::move(record_));
}

std::vector<std::string> input_dtypes(const wire::CallSpecT& spec) {
  constexpr std::size_t longest = 32;  // "float8_e4m3fnuz"; another process states them
  std::set<std::string> found;
  for (const InputTensor& tensor : tensors_of(spec))
    if (tensor.dtype.size() <= longest &&
        tensor.dtype.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos)
      found.insert(tensor.dtype);
  return {found.begin(), found.end()};
}

}  // namespace kw::verify
