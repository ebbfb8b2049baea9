// The reward for a verdict, as trainers want it: one function for every dialect.
#pragma once

#include <boost/json/value.hpp>
#include <optional>

#include "base/result.h"
#include "schema/verdict.h"

namespace kw {

struct RewardTerms {
  double base = 0.3;  // of a right kernel whose speed nobody knows
  double cap = 5;     // a faster one gets no more
  Trust min_trust = Trust::replay;
  bool operator==(const RewardTerms&) const = default;
};

// Nothing where the task or the infrastructure is to blame: that says nothing of the kernel. 0 unless it is
// right and counts; else base + min(speedup, cap). A speed that is trusted less than the terms ask is not
// known.
std::optional<double> reward_of(const Verdict& verdict, const RewardTerms& terms);

// From {"base": 0.3, "cap": 5, "min_trust": "replay"}: what is missing or null is as above.
Result<RewardTerms> reward_terms_from_json(const boost::json::value& value);

}  // namespace kw
