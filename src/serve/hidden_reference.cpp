#include "serve/hidden_reference.h"

#include <array>
#include <cmath>
#include <string_view>

namespace kw::service {
namespace {

// Findings on the reference that go on with text of its own: the words that stay.
constexpr std::array quoting{
    std::string_view("no error budget, since the reference does not run in float64"),
    std::string_view("the reference leaves something behind in its process"),
    std::string_view("the reference is timed by events in the oracle, since it cannot be replayed"),
    std::string_view("torch.compile of the reference was not timed"),
};

bool cut_quotes(std::vector<std::string>& findings) {
  bool cut = false;
  for (std::string& finding : findings)
    for (std::string_view words : quoting)
      if (finding.size() > words.size() && finding.starts_with(words)) {
        finding.resize(words.size());
        cut = true;
      }
  return cut;
}

std::string_view coarse_error(const Verdict& verdict) {
  if (verdict.fault == Fault::task) return "the task does not work: its reference or its inputs fail";
  if (verdict.fault == Fault::infrastructure)
    return "the service could not judge the candidate, through no fault of it";
  return "the task is too large to be judged here";
}

// Whether the error is of the reference's process: a fault of the task or of the infrastructure, or a task
// that was given up before the candidate ran.
bool is_of_reference(const Verdict& verdict) {
  if (verdict.fault == Fault::task || verdict.fault == Fault::infrastructure) return true;
  return verdict.stage == Stage::prepare && verdict.fault != Fault::kernel;
}

// Whether the error is about values, of which it quotes an expected one.
bool is_of_values(const Verdict& verdict) {
  return verdict.error_class == ErrorClass::wrong_value || verdict.error_class == ErrorClass::nonfinite;
}

// "output: 3 of 8 values differ (38%); first at [2]: expected 5, got 7; largest error 9; rtol=0.01 atol=0.01"
// without the values and the error.
std::string without_values(std::string_view error) {
  const std::size_t values = error.find("expected ");
  if (values == std::string_view::npos) return std::string(error);
  std::string_view kept = error.substr(0, values);
  while (!kept.empty() && (kept.back() == ' ' || kept.back() == ':' || kept.back() == ','))
    kept.remove_suffix(1);
  constexpr std::string_view bare_first = "; first";
  if (kept.ends_with(bare_first)) kept.remove_suffix(bare_first.size());
  std::string coarse(kept);
  if (!kept.contains("value")) coarse += ": the value differs";
  if (std::size_t tolerance = error.find("; rtol=", values); tolerance != std::string_view::npos)
    coarse += error.substr(tolerance);
  return coarse;
}

// To one digit: the largest error of an answer of zeros is an expected value.
bool round_error(std::optional<double>& number) {
  if (!number || !std::isfinite(*number) || *number == 0) return false;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(*number))));
  const double rounded = std::round(*number / unit) * unit;
  return std::exchange(*number, rounded) != rounded;
}

// The facts of the record on values: the neighbours of a mismatch, ranges, the errors of each trial and
// output.
bool blur(EvidenceRecord& evidence) {
  bool removed = evidence.first_mismatch.has_value();
  evidence.first_mismatch.reset();
  for (EvidenceTrial& trial : evidence.trials) {
    if (trial.passed) continue;
    removed = round_error(trial.max_abs_error) || removed;
    removed = round_error(trial.max_rel_error) || removed;
    removed = trial.max_error_over_limit || !trial.outputs.empty() || removed;
    trial.max_error_over_limit.reset();
    trial.outputs_left_out += trial.outputs.size();
    trial.outputs.clear();
  }
  return removed;
}

// Families quote values in their reasons, and the reference's own errors where they were dropped.
bool blur(FamilyTrial& trial) {
  if (trial.outcome == FamilyOutcome::held) return false;
  std::optional<std::string> coarse;
  if (trial.outcome == FamilyOutcome::dropped)
    coarse = "the reference gives no sound answer on these inputs";
  else if (trial.why)
    coarse = without_values(*trial.why);
  bool removed = std::exchange(trial.why, coarse) != coarse;
  removed = round_error(trial.max_abs_error) || removed;
  removed = trial.max_error_over_limit.has_value() || removed;
  trial.max_error_over_limit.reset();
  return removed;
}

bool blur(Generality& generality) {
  bool removed = false;
  for (auto* trials : {&generality.families, &generality.shape_trials})
    for (FamilyTrial& trial : *trials) removed = blur(trial) || removed;
  return removed;
}

// A mismatch in coarse words: which share of the values differs, where the first one is, an error to one
// digit.
bool blur(Verdict& verdict) {
  bool removed = false;
  if (verdict.comparison && verdict.comparison->first_mismatch) {
    removed = true;
    verdict.comparison->first_mismatch.reset();
  }
  if (is_of_values(verdict)) {
    if (verdict.error) {
      std::string coarse = without_values(*verdict.error);
      removed = removed || coarse != *verdict.error;
      verdict.error = std::move(coarse);
    }
    if (verdict.comparison) {
      removed = round_error(verdict.comparison->max_abs_error) || removed;
      removed = round_error(verdict.comparison->max_rel_error) || removed;
      removed = round_error(verdict.comparison->error_ratio) || !verdict.comparison->error_ratios.empty() ||
                removed;
      verdict.comparison->error_ratios.clear();
    }
  }
  if (verdict.evidence) removed = blur(*verdict.evidence) || removed;
  if (verdict.generality) removed = blur(*verdict.generality) || removed;
  return removed;
}

}  // namespace

bool hide_reference(Verdict& verdict) {
  bool removed = verdict.comparison && cut_quotes(verdict.comparison->findings);
  removed = blur(verdict) || removed;
  if (!is_of_reference(verdict)) return removed;
  if (verdict.error && *verdict.error != coarse_error(verdict)) {
    verdict.error = coarse_error(verdict);
    removed = true;
  }
  removed = removed || verdict.error_detail || verdict.printed || !verdict.further.empty();
  verdict.error_detail.reset();
  verdict.printed.reset();
  verdict.further.clear();
  return removed;
}

}  // namespace kw::service
