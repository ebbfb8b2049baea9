#include "scoring/output.h"

#include "base/text.h"

namespace kw::scoring {
namespace {

std::string first_line(std::string_view text) {
  text = trim(text);
  return shorten(to_plain_text(text.substr(0, text.find('\n'))), 240);
}

}  // namespace

VerdictFacts facts_of(const Verdict& verdict, JudgedBy by, Trust least) {
  VerdictFacts facts;
  facts.by = by;
  facts.status = to_string(verdict.status);
  facts.stage = to_string(verdict.stage);
  if (verdict.error_class) facts.error_class = to_string(*verdict.error_class);
  if (verdict.counts_reason) facts.counts_reason = to_string(*verdict.counts_reason);
  if (verdict.fault) facts.fault = to_string(*verdict.fault);
  if (verdict.error) facts.why = first_line(*verdict.error);
  if (verdict.trust) facts.trust = to_string(*verdict.trust);
  if (verdict.shapes) facts.shapes = to_string(*verdict.shapes);
  facts.protocol = verdict.environment.protocol;
  score::Outcome outcome = score::outcome_of(verdict, least);
  facts.standing = outcome.standing;
  facts.speedup = outcome.speedup;
  // Others say neither what an answer proves nor what measured it.
  bool of_others = by == JudgedBy::recorded && verdict.status == Status::correct && !verdict.counts;
  if (of_others) {
    facts.counts_unknown = true;
    facts.standing = score::Standing::right;
    facts.speedup = verdict.speedup;
  }
  if (facts.standing == score::Standing::right && !facts.speedup)
    facts.why_no_speed = verdict.speedup ? "measured by an instrument that is not trusted enough"
                                         : verdict.timing.why_null.value_or("no reason was given");
  return facts;
}

}  // namespace kw::scoring
