// The generality of a right candidate: on which families of inputs and at which other shapes it stays right,
// beyond those that its task draws. A part of the verdict; docs/verdict.md describes the fields,
// docs/varied_inputs.md the families and the shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/words.h"
#include "types/evidence.h"

namespace kw {

// dropped: the reference itself gives no sound answer on these inputs.
BOOST_DEFINE_ENUM_CLASS(FamilyOutcome, held, failed, dropped, untried)

// any: right at every other shape that was tried. given_only: wrong at one. unknown: none could be tried.
BOOST_DEFINE_ENUM_CLASS(ShapeGenerality, any, given_only, unknown)

struct FamilyTrial {
  std::string family = {};  // "scaled_60", ...; of a shape: "prime", "larger", ...
  FamilyOutcome outcome = FamilyOutcome::untried;
  bool reported_only = false;              // a failure is not held against the candidate
  std::optional<std::string> inputs = {};  // how they differ from the task's own
  std::optional<std::string> why = {};     // of all but `held`
  std::optional<double> max_abs_error = {};
  std::optional<double> mismatched_share = {};
  std::optional<Element> max_error_over_limit = {};
};

struct Generality {
  std::vector<FamilyTrial> families = {};      // in the order in which they were tried
  std::optional<std::string> why_not = {};     // set if no family was tried
  std::optional<ShapeGenerality> shapes = {};  // none: other shapes were not asked for
  std::vector<FamilyTrial> shape_trials = {};  // in the order in which they were tried
};

inline constexpr const char* empty_shape = "empty";  // the trial with no element in an input

// What the trials at other shapes show together. Empty inputs are only reported.
ShapeGenerality generality_of(const std::vector<FamilyTrial>& shape_trials);

// The first failure that is held against the candidate; null: none, so that it counts.
const FamilyTrial* specialised_on(const Generality& generality);

}  // namespace kw
