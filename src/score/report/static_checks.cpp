#include "score/report/static_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"

namespace kw::scoring {
namespace {

constexpr std::size_t most_reasons = 20;  // of an answer
constexpr std::size_t longest_reason = 240;

// The reason that decides: the first of a check in the worst state.
const StaticReason* deciding(const StaticFacts& facts) {
  for (const StaticReason& reason : facts.reasons)
    if (auto check = facts.checks.find(reason.check);
        check != facts.checks.end() && check->second == facts.state)
      return &reason;
  return nullptr;
}

}  // namespace

void set_checks(const std::vector<score::CheckResult>& checks, StaticFacts& facts) {
  facts.checks.clear();
  facts.reasons.clear();
  facts.state = score::CheckState::pass;
  for (const score::CheckResult& one : checks) {
    facts.checks[one.check] = one.state;
    facts.state = std::max(*facts.state, one.state);
    // A later check that fails keeps its first reason beside many of an unproven one.
    bool is_first = true;
    for (const StaticFinding& why : one.why) {
      if (facts.reasons.size() < most_reasons || is_first)
        facts.reasons.push_back({one.check, shorten(to_plain_text(why.what), longest_reason), why.line});
      is_first = false;
    }
  }
}

std::optional<bool> judgement_of(const StaticFacts& facts) {
  if (!facts.state) return facts.is_good;
  if (*facts.state == score::CheckState::unproven) return {};
  return *facts.state == score::CheckState::pass;
}

std::string state_words(const StaticFacts& facts) {
  if (!facts.state) {
    if (facts.is_good) return "passed";
    return facts.disguise.empty() ? "not passed" : facts.disguise;
  }
  std::string words(to_string(*facts.state));
  const StaticReason* reason = deciding(facts);
  if (*facts.state == score::CheckState::pass || !reason) return words;
  std::string place = reason->line == 0 ? "" : fmt::format(", line {}", reason->line);
  return fmt::format("{} ({}{}: {})", words, to_string(reason->check), place, reason->what);
}

}  // namespace kw::scoring
