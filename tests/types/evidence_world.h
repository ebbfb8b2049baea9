// Evidence records for tests.
#pragma once

#include <limits>

#include "types/evidence.h"

namespace kw::evidence_world {

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline EvidenceTrial a_trial(std::size_t index, bool passed,
                             TrialPurpose purpose = TrialPurpose::correctness) {
  EvidenceTrial each;
  each.index = index;
  each.purpose = purpose;
  each.inputs = "given";
  each.weights = "automatic";
  each.passed = passed;
  if (!passed) each.error_class = ErrorClass::wrong_value;
  each.max_abs_error = 0.5;
  each.max_error_over_limit = Element{infinity};
  each.outputs = {{"output", "float32", {4, 8}, 0.5, 0.25, 0.125, 1e-4, 1e-4, Element{5000}, 1e-7}};
  return each;
}

// Every field is set.
inline EvidenceRecord full_record() {
  EvidenceRecord record;
  record.inputs = {{"given", {{"x", "float32", {4, 8}}}, 0}};
  record.moved_bytes = 256;
  record.trials = {a_trial(0, true), a_trial(1, false)};
  record.trials[1].path = TrialPath::replay;
  record.trials[1].recording = 1;
  record.first_mismatch = MismatchEvidence{1,
                                           "output",
                                           {0, 3},
                                           {1.5},
                                           {not_a_number},
                                           {{{0, 2}, {1}, {1}, false}, {{0, 3}, {1.5}, {not_a_number}, true}},
                                           {},
                                           {}};
  record.first_mismatch->expected_values = ValueSummary{-1, 1, 0, 0};
  record.first_mismatch->actual_values = ValueSummary{{}, {}, 32, 0};
  record.launches = {{0, 2, 1, FactSource::replay, "k", "candidate", {4, 1, 1}, {128, 1, 1}, {}, 0.5}};
  record.decoys = {{"without_own_launches", CheckOutcome::wrong}};
  record.certificate = Certificate{5, {{"zeros", false}, {"echo", true}}};
  record.audits = {{"unrecorded_calls", CheckOutcome::not_run, 0}};
  record.clock_check = ClockCheck{256,   0.01, FactSource::replay,
                                  0.011, 0.04, ReplayClocks{0.01, 0.0102, 0.013, 0.0101, 0.012}};
  return record;
}

}  // namespace kw::evidence_world
