#include "score/report/output.h"

#include <fmt/format.h>

#include <cmath>

#include "base/core/json.h"
#include "base/core/text.h"
#include "types/struct_json.h"

namespace kw::scoring {
namespace json = boost::json;

BOOST_DESCRIBE_STRUCT(VerdictFacts, (),
                      (by, standing, status, stage, error_class, counts_reason, counts_unknown, fault, why,
                       speedup, why_no_speed, trust, shapes, protocol))
BOOST_DESCRIBE_STRUCT(StaticReason, (), (check, what, line))
BOOST_DESCRIBE_STRUCT(StaticFacts, (),
                      (parses, has_jit, is_launched, loads, masked_loads, stores, masked_stores,
                       boundary_checks, constexpr_blocks, native_code, forbidden, torch_work, undefined_names,
                       disguise, why_disguised, is_good, state, checks, reasons))
BOOST_DESCRIBE_STRUCT(OverlapFacts, (), (exact, exact_tokens, exact_renamed, bleu))

}  // namespace kw::scoring

namespace kw {
template <>
inline constexpr bool struct_json::empty_text_is_null<scoring::VerdictFacts> = true;
template <>
inline constexpr bool struct_json::empty_text_is_null<scoring::StaticFacts> = true;
}  // namespace kw

namespace kw::scoring {
namespace {

std::string text(const json::object& object, std::string_view key) {
  return string_at(object, key).value_or("");
}

bool flag(const json::object& object, std::string_view key) {
  return bool_at(object, key).value_or(false);
}

std::size_t whole_at(const json::object& object, std::string_view key) {
  double number = number_at(object, key).value_or(0);
  return number > 0 && number < 1e15 ? static_cast<std::size_t>(number) : 0;
}

// A larger speed-up can only be an error of measurement.
constexpr double most_speedup = 1e9;

bool is_speedup(double value) {
  return std::isfinite(value) && value > 0 && value <= most_speedup;
}

// By rounding, the value of equal texts may exceed 1.
bool is_bleu(double value) {
  return value >= 0 && value <= 1 + 1e-9;
}

Result<VerdictFacts> read_verdict(const json::object& object) {
  VerdictFacts facts;
  struct_json::read_fields(object, facts);
  if (facts.by == JudgedBy::nobody) facts.by = JudgedBy::here;
  if (!from_string<score::Standing>(text(object, "standing")))
    return fail(fmt::format("\"{}\" is no standing", text(object, "standing")));
  if (facts.speedup && !is_speedup(*facts.speedup))
    return fail(fmt::format("{} is no speed-up", *facts.speedup));
  return facts;
}

}  // namespace

json::object to_json(const ScoredAnswer& record) {
  using struct_json::written;
  return {{"target", record.target},
          {"item", record.item},
          {"task_id", text_or_null(record.task_id)},
          {"row_id", text_or_null(record.row_id)},
          {"source", record.source},
          {"kind", text_or_null(record.kind)},
          {"model", text_or_null(record.model)},
          {"sample_number", record.sample_number},
          {"turn", record.turn == 0 ? json::value() : json::value(record.turn)},
          {"scored", record.is_scored},
          {"answer_sha256", record.answer_sha256},
          {"answer_bytes", record.answer_bytes},
          {"trained_on", record.was_trained_on},
          {"verdict", record.verdict.by == JudgedBy::nobody ? json::value() : written(record.verdict)},
          {"static", written(record.idioms)},
          {"overlap", written(record.overlap)},
          {"compile", text_or_null(record.compile)},
          {"compile_reason", text_or_null(record.compile_reason)}};
}

Result<ScoredAnswer> record_from_json(const json::object& object) {
  ScoredAnswer record;
  record.target = text(object, "target");
  record.item = text(object, "item");
  if (record.target.empty() || record.item.empty()) return fail("an output has no \"target\" or no \"item\"");
  record.task_id = text(object, "task_id");
  record.row_id = text(object, "row_id");
  record.source = text(object, "source");
  record.kind = text(object, "kind");
  record.model = text(object, "model");
  record.sample_number = whole_at(object, "sample_number");
  record.turn = whole_at(object, "turn");
  record.is_scored = flag(object, "scored");
  record.answer_sha256 = text(object, "answer_sha256");
  record.answer_bytes = whole_at(object, "answer_bytes");
  record.was_trained_on = flag(object, "trained_on");
  record.compile = text(object, "compile");
  record.compile_reason = text(object, "compile_reason");
  struct_json::read_member(object, "static", record.idioms);
  struct_json::read_member(object, "overlap", record.overlap);
  if (record.overlap && record.overlap->bleu && !is_bleu(*record.overlap->bleu))
    return fail(
        fmt::format("{}: {} is no BLEU: it lies between 0 and 1", record.target, *record.overlap->bleu));
  if (const json::object* verdict = object_at(object, "verdict")) {
    auto facts = read_verdict(*verdict);
    if (!facts) return fail(fmt::format("{}: {}", record.target, facts.error().what));
    record.verdict = std::move(*facts);
  }
  return record;
}

std::vector<score::Outcome> outcomes_of(const std::vector<ScoredAnswer>& records) {
  std::vector<score::Outcome> outcomes;
  for (const ScoredAnswer& record : records)
    if (record.is_scored && record.verdict.by != JudgedBy::nobody)
      outcomes.push_back({record.item, record.verdict.standing, record.verdict.speedup});
  return outcomes;
}

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
  // Verdicts of other evaluators state neither whether the answer counts nor the instrument.
  bool of_others = by == JudgedBy::recorded && verdict.status == Status::correct && !verdict.counts;
  if (of_others) {
    facts.counts_unknown = true;
    facts.standing = score::Standing::right;
    facts.speedup = verdict.speedup;
  }
  if (facts.standing == score::Standing::right && !facts.speedup)
    facts.why_no_speed = verdict.speedup ? "measured at a lower trust level than required"
                                         : verdict.timing.why_null.value_or("no reason was given");
  return facts;
}

}  // namespace kw::scoring
