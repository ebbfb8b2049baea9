// The generality of a right candidate: on which families of inputs it stays right, beyond those that its task
// draws. A part of the verdict; docs/verdict.md describes the fields, docs/varied_inputs.md the families.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/words.h"
#include "types/evidence.h"

namespace kw {

// dropped: the reference itself gives no sound answer on these inputs.
BOOST_DEFINE_ENUM_CLASS(FamilyOutcome, held, failed, dropped, untried)

struct FamilyTrial {
  std::string family = {};  // "given", "scaled_60", ...
  FamilyOutcome outcome = FamilyOutcome::untried;
  bool reported_only = false;              // a failure is not held against the candidate
  std::optional<std::string> inputs = {};  // how they differ from the task's own
  std::optional<std::string> why = {};     // of all but `held`
  std::optional<double> max_abs_error = {};
  std::optional<double> mismatched_share = {};
  std::optional<Element> max_error_over_limit = {};
};

struct Generality {
  std::vector<FamilyTrial> families = {};  // in the order in which they were tried
  std::optional<double> error_ratio = {};  // on the task's own inputs: largest error over the reference's own
  std::optional<std::string> why_not = {};  // set if no family was tried
};

// The first failure that is held against the candidate; null: none, so that it counts.
const FamilyTrial* specialised_on(const Generality& generality);

}  // namespace kw
