#include "scoring/record.h"

#include <fmt/format.h>

#include <cmath>

#include "schema/json.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value() : json::value(text);
}

json::value number_or_null(const std::optional<double>& number) {
  return number ? json::value(*number) : json::value();
}

json::value verdict_json(const VerdictFacts& facts) {
  if (facts.by == JudgedBy::nobody) return {};
  return json::object{{"by", to_string(facts.by)},
                      {"standing", to_string(facts.standing)},
                      {"status", facts.status},
                      {"stage", text_or_null(facts.stage)},
                      {"error_class", text_or_null(facts.error_class)},
                      {"counts_reason", text_or_null(facts.counts_reason)},
                      {"counts_unknown", facts.counts_unknown},
                      {"fault", text_or_null(facts.fault)},
                      {"why", text_or_null(facts.why)},
                      {"speedup", number_or_null(facts.speedup)},
                      {"why_no_speed", text_or_null(facts.why_no_speed)},
                      {"trust", text_or_null(facts.trust)},
                      {"shapes", text_or_null(facts.shapes)},
                      {"protocol", text_or_null(facts.protocol)}};
}

json::value idioms_json(const std::optional<StaticFacts>& facts) {
  if (!facts) return {};
  return json::object{{"parses", facts->parses},
                      {"has_jit", facts->has_jit},
                      {"is_launched", facts->is_launched},
                      {"loads", facts->loads},
                      {"masked_loads", facts->masked_loads},
                      {"stores", facts->stores},
                      {"masked_stores", facts->masked_stores},
                      {"boundary_checks", facts->boundary_checks},
                      {"constexpr_blocks", facts->constexpr_blocks},
                      {"native_code", facts->native_code},
                      {"forbidden", facts->forbidden},
                      {"torch_work", facts->torch_work},
                      {"disguise", text_or_null(facts->disguise)},
                      {"why_disguised", text_or_null(facts->why_disguised)},
                      {"is_good", facts->is_good}};
}

json::value overlap_json(const std::optional<OverlapFacts>& facts) {
  if (!facts) return {};
  return json::object{{"exact", facts->exact},
                      {"exact_tokens", facts->exact_tokens},
                      {"exact_renamed", facts->exact_renamed},
                      {"bleu", number_or_null(facts->bleu)}};
}

const json::object* object_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value ? value->if_object() : nullptr;
}

std::string text(const json::object& object, std::string_view key) {
  return string_at(object, key).value_or("");
}

bool flag(const json::object& object, std::string_view key) {
  return bool_at(object, key).value_or(false);
}

std::size_t count(const json::object& object, std::string_view key) {
  double number = number_at(object, key).value_or(0);
  return number > 0 && number < 1e15 ? static_cast<std::size_t>(number) : 0;
}

// A clock that is off by a billion measures nothing.
constexpr double most_speedup = 1e9;

bool is_speedup(double value) {
  return std::isfinite(value) && value > 0 && value <= most_speedup;
}

// The last digits of a full likeness may lie over 1.
bool is_bleu(double value) {
  return value >= 0 && value <= 1 + 1e-9;
}

Result<VerdictFacts> read_verdict(const json::object& object) {
  VerdictFacts facts;
  facts.by = text(object, "by") == "recorded" ? JudgedBy::recorded : JudgedBy::here;
  std::string standing = text(object, "standing");
  if (standing != "right" && standing != "wrong" && standing != "unknown")
    return fail(fmt::format("\"{}\" is no standing", standing));
  facts.standing = standing == "right"   ? score::Standing::right
                   : standing == "wrong" ? score::Standing::wrong
                                         : score::Standing::unknown;
  facts.status = text(object, "status");
  facts.stage = text(object, "stage");
  facts.error_class = text(object, "error_class");
  facts.counts_reason = text(object, "counts_reason");
  facts.counts_unknown = flag(object, "counts_unknown");
  facts.fault = text(object, "fault");
  facts.why = text(object, "why");
  facts.speedup = number_at(object, "speedup");
  if (facts.speedup && !is_speedup(*facts.speedup))
    return fail(fmt::format("{} is no speed-up", *facts.speedup));
  facts.why_no_speed = text(object, "why_no_speed");
  facts.trust = text(object, "trust");
  facts.shapes = text(object, "shapes");
  facts.protocol = text(object, "protocol");
  return facts;
}

StaticFacts read_idioms(const json::object& object) {
  StaticFacts facts;
  facts.parses = flag(object, "parses");
  facts.has_jit = flag(object, "has_jit");
  facts.is_launched = flag(object, "is_launched");
  facts.loads = flag(object, "loads");
  facts.masked_loads = flag(object, "masked_loads");
  facts.stores = flag(object, "stores");
  facts.masked_stores = flag(object, "masked_stores");
  facts.boundary_checks = flag(object, "boundary_checks");
  facts.constexpr_blocks = flag(object, "constexpr_blocks");
  facts.native_code = flag(object, "native_code");
  facts.forbidden = count(object, "forbidden");
  facts.torch_work = count(object, "torch_work");
  facts.disguise = text(object, "disguise");
  facts.why_disguised = text(object, "why_disguised");
  facts.is_good = flag(object, "is_good");
  return facts;
}

}  // namespace

std::string_view to_string(JudgedBy by) {
  return by == JudgedBy::nobody ? "nobody" : by == JudgedBy::here ? "here" : "recorded";
}

std::string_view to_string(score::Standing standing) {
  if (standing == score::Standing::right) return "right";
  return standing == score::Standing::wrong ? "wrong" : "unknown";
}

json::object to_json(const Record& record) {
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
          {"verdict", verdict_json(record.verdict)},
          {"static", idioms_json(record.idioms)},
          {"overlap", overlap_json(record.overlap)},
          {"compile", text_or_null(record.compile)},
          {"compile_reason", text_or_null(record.compile_reason)}};
}

Result<Record> record_from_json(const json::object& object) {
  Record record;
  record.target = text(object, "target");
  record.item = text(object, "item");
  if (record.target.empty() || record.item.empty()) return fail("an output has no \"target\" or no \"item\"");
  record.task_id = text(object, "task_id");
  record.row_id = text(object, "row_id");
  record.source = text(object, "source");
  record.kind = text(object, "kind");
  record.model = text(object, "model");
  record.sample_number = count(object, "sample_number");
  record.turn = count(object, "turn");
  record.is_scored = flag(object, "scored");
  record.answer_sha256 = text(object, "answer_sha256");
  record.answer_bytes = count(object, "answer_bytes");
  record.was_trained_on = flag(object, "trained_on");
  record.compile = text(object, "compile");
  record.compile_reason = text(object, "compile_reason");
  if (const json::object* idioms = object_at(object, "static")) record.idioms = read_idioms(*idioms);
  if (const json::object* overlap = object_at(object, "overlap"))
    record.overlap = OverlapFacts{flag(*overlap, "exact"), flag(*overlap, "exact_tokens"),
                                  flag(*overlap, "exact_renamed"), number_at(*overlap, "bleu")};
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

std::vector<score::Outcome> outcomes_of(const std::vector<Record>& records) {
  std::vector<score::Outcome> outcomes;
  for (const Record& record : records)
    if (record.is_scored && record.verdict.by != JudgedBy::nobody)
      outcomes.push_back({record.item, record.verdict.standing, record.verdict.speedup});
  return outcomes;
}

}  // namespace kw::scoring
