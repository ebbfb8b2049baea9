// The three states of the static checks in a record: from the checks into it, and in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "score/report/output.h"

namespace kw::scoring {

// Puts the checks into the facts: the state of each, the worst of them, and the first reasons.
void set_checks(const std::vector<score::CheckResult>& checks, StaticFacts& facts);

// What the checks say of an answer: good (pass) or not (fail). Empty: unproven. A result of an earlier
// version has no states; there is_good decides.
std::optional<bool> judgement_of(const StaticFacts& facts);

// "unproven (in_bounds, line 9: …)"; "passed" or "not passed" in a result of an earlier version.
std::string state_words(const StaticFacts& facts);

}  // namespace kw::scoring
