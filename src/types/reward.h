// The reward for a verdict: one implementation for all interfaces.
#pragma once

#include <boost/json/value.hpp>
#include <optional>

#include "base/core/result.h"
#include "types/verdict.h"

namespace kw {

struct RewardTerms {
  double base = 0.3;  // of a correct kernel without a known speed-up
  double cap = 5;     // the limit of the speed-up's part
  Trust min_trust = Trust::replay;
  bool operator==(const RewardTerms&) const = default;
};

// Empty for a fault of the task or the infrastructure, which is no fault of the kernel. 0 unless the
// verdict is correct and counts; else base + min(speedup, cap). A speed with less trust than the terms
// require is unknown.
std::optional<double> reward_of(const Verdict& verdict, const RewardTerms& terms);

// Reads {"base": 0.3, "cap": 5, "min_trust": "replay"}; a missing or null term has the default above.
Result<RewardTerms> reward_terms_from_json(const boost::json::value& value);

}  // namespace kw
