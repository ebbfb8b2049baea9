#include "report/model/fill.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/serialize.hpp>
#include <numeric>
#include <set>
#include <string>

#include "base/core/json.h"
#include "base/core/text.h"
#include "dataset/licence/expression.h"
#include "dataset/licence/licence.h"
#include "score/report/output.h"

namespace kw::report {
namespace json = boost::json;
namespace {

using scoring::JudgedBy;
using scoring::VerdictFacts;

template <typename Enum>
std::string_view word_of(const std::optional<Enum>& value) {
  return value ? to_string(*value) : std::string_view();
}

double judge_ms(const Verdict& verdict) {
  double sum = 0;
  for (const auto& [stage, ms] : verdict.stages_ms) sum += ms;
  return sum;
}

// The verdicts of other evaluators have no trust and state nothing about counting.
VerdictFacts facts_of(const Verdict& verdict, Trust least) {
  return scoring::facts_of(verdict,
                           verdict.environment.protocol.empty() ? JudgedBy::recorded : JudgedBy::here, least);
}

// A time or a speed-up that a source did not record is zero there.
std::optional<double> positive(std::optional<double> value) {
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<double> ratio(double above, double below) {
  if (!(above > 0) || !(below > 0)) return {};
  return above / below;
}

void fill_times(const Verdict& verdict, std::size_t row, Rows& rows) {
  const Timing& timing = verdict.timing;
  if (const auto &reference = timing.reference_interval_ms, &kernel = timing.kernel_interval_ms;
      reference && kernel) {
    rows.speedup_low.set(row, ratio(reference->first, kernel->second));
    rows.speedup_high.set(row, ratio(reference->second, kernel->first));
  }
  rows.reference_time_ms.set(row, verdict.reference_time_ms);
  rows.kernel_time_ms.set(row, verdict.kernel_time_ms);
  rows.call_speedup.set(row, timing.call_speedup);
  if (timing.compile_time_ms && verdict.kernel_time_ms)
    rows.compile_speedup.set(row, ratio(*timing.compile_time_ms, *verdict.kernel_time_ms));
  if (!timing.segments) return;
  rows.forward_speedup.set(row, timing.segments->forward.speedup);
  rows.backward_speedup.set(row, timing.segments->backward.speedup);
}

// "bounds clean, memcheck not run"; empty where no check was asked for.
std::string sanitized_in_words(const Verdict& verdict) {
  if (!verdict.sanitized) return {};
  if (verdict.sanitized->empty()) return "no check ended";
  std::vector<std::string> words;
  for (const SanitizerCheck& each : *verdict.sanitized) {
    const bool has_run = each.outcome != SanitizerOutcome::not_run;
    words.push_back(
        fmt::format("{} {}", to_string(each.check), has_run ? to_string(each.outcome) : "not run"));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string tolerance_of(const Tolerance& tolerance) {
  if (tolerance.name != "custom" || !tolerance.rtol || !tolerance.atol) return tolerance.name;
  return fmt::format("rtol={},atol={}", *tolerance.rtol, *tolerance.atol);
}

void fill_conditions(const Verdict& verdict, std::size_t row, Rows& rows) {
  const Timing& timing = verdict.timing;
  rows.instrument.set(row, timing.instrument.value_or(""));
  if (timing.clocks) {
    rows.clock_sm_mhz.set(row, timing.clocks->sm_mhz);
    rows.throttle.set(row, timing.clocks->throttle.value_or(""));
  }
  rows.roofline_share.set(row, timing.roofline_share);
  rows.shapes.set(row, word_of(verdict.shapes));
  if (verdict.comparison) rows.tolerance.set(row, tolerance_of(verdict.comparison->tolerance));
  rows.torch.set(row, verdict.environment.torch.value_or(""));
  rows.triton.set(row, verdict.environment.triton.value_or(""));
  rows.program_version.set(row, verdict.environment.program_version);
}

void fill_judged(const Verdict& verdict, Trust least, std::size_t row, Rows& rows) {
  rows.status.set(row, to_string(verdict.status));
  rows.standing.set(row, to_string(facts_of(verdict, least).standing));
  rows.counts.set(row, verdict.counts);
  rows.counts_reason.set(row, word_of(verdict.counts_reason));
  rows.error_class.set(row, word_of(verdict.error_class));
  rows.fault.set(row, word_of(verdict.fault));
  rows.stage.set(row, to_string(verdict.stage));
  rows.trust.set(row, word_of(verdict.trust));
  rows.gpu.set(row, verdict.environment.gpu.value_or(""));
  rows.protocol.set(row, verdict.environment.protocol);
  rows.speedup.set(row, positive(verdict.speedup));
  rows.sanitized.set(row, sanitized_in_words(verdict));
  if (verdict.generality) rows.other_shapes.set(row, word_of(verdict.generality->shapes));
  fill_times(verdict, row, rows);
  fill_conditions(verdict, row, rows);
}

struct Sums {
  std::optional<std::int64_t> prompt_tokens, completion_tokens, reasoning_tokens;
  std::optional<double> generation_ms, judge_ms;
  std::int64_t turns = 0;
};

void add(const std::optional<std::int64_t>& value, std::optional<std::int64_t>& sum) {
  if (value && *value >= 0 && *value < (std::int64_t{1} << 50)) sum = sum.value_or(0) + *value;
}

void add(std::optional<double> value, std::optional<double>& sum) {
  if (value) sum = sum.value_or(0) + *value;
}

void add_turn(const Turn& turn, std::size_t round, Trust least, std::size_t row, Turns& turns, Sums& sums) {
  std::size_t at = turns.add();
  turns.row.set(at, static_cast<std::int64_t>(row));
  turns.round.set(at, static_cast<std::int64_t>(round));
  turns.turn.set(at, static_cast<std::int64_t>(turn.turn));
  turns.prompt_tokens.set(at, turn.usage.prompt_tokens);
  turns.completion_tokens.set(at, turn.usage.completion_tokens);
  turns.reasoning_tokens.set(at, turn.usage.reasoning_tokens);
  turns.generation_ms.set(at, positive(turn.generation_ms));
  ++sums.turns;
  add(turn.usage.prompt_tokens, sums.prompt_tokens);
  add(turn.usage.completion_tokens, sums.completion_tokens);
  add(turn.usage.reasoning_tokens, sums.reasoning_tokens);
  add(positive(turn.generation_ms), sums.generation_ms);
  if (!turn.verdict) return;
  const Verdict& verdict = *turn.verdict;
  turns.status.set(at, to_string(verdict.status));
  turns.standing.set(at, to_string(facts_of(verdict, least).standing));
  turns.counts_reason.set(at, word_of(verdict.counts_reason));
  turns.error_class.set(at, word_of(verdict.error_class));
  turns.fault.set(at, word_of(verdict.fault));
  turns.evidence.set(at, verdict.evidence.has_value());
  turns.speedup.set(at, positive(verdict.speedup));
  turns.judge_ms.set(at, positive(judge_ms(verdict)));
  add(positive(judge_ms(verdict)), sums.judge_ms);
}

std::string text(const json::object& fields, std::string_view key) {
  return text_at(fields, key).value_or("");
}

std::vector<const json::object*> objects_at(const json::object& fields, std::string_view key) {
  std::vector<const json::object*> objects;
  const json::value* list = fields.if_contains(key);
  if (!list || !list->is_array()) return objects;
  for (const json::value& each : list->get_array())
    if (const json::object* object = each.if_object()) objects.push_back(object);
  return objects;
}

// The first of these fields that is a text or a number.
std::string first_text(const json::object& fields, std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys)
    if (std::string found = text(fields, key); !found.empty()) return found;
  return {};
}

// "kernels/norm.py (body, psm)": a row of `dataset build` by its file and hole, which a person knows better
// than the hash of its unit.
std::string name_of(const json::object& fields) {
  const json::object* source = object_at(fields, "source");
  const json::object* hole = object_at(fields, "hole");
  std::string name = source ? text(*source, "path") : std::string();
  if (name.empty()) return first_text(fields, {"unit", "name", "sample_key", "task_id"});
  if (std::string origin = text(*source, "name"); !origin.empty()) name = fmt::format("{}/{}", origin, name);
  if (!hole) return name;
  return fmt::format("{} ({}, {})", name, text(*hole, "node"), text(*hole, "rendering"));
}

std::set<std::string> dtypes_of(const json::object& evidence) {
  std::set<std::string> dtypes;
  for (const json::object* family : objects_at(evidence, "inputs"))
    for (const json::object* tensor : objects_at(*family, "tensors"))
      if (std::string dtype = text(*tensor, "dtype"); !dtype.empty()) dtypes.insert(std::move(dtype));
  return dtypes;
}

}  // namespace

void fill_evidence(const json::object& verdict, Rows& rows) {
  std::size_t row = rows.count - 1;
  const json::object* evidence = object_at(verdict, "evidence");
  rows.evidence.set(row, evidence != nullptr);
  std::set<std::string> dtypes;
  if (const json::object* call = object_at(verdict, "call"))
    if (const json::array* named = array_at(*call, "input_dtypes"))
      for (const json::value& dtype : *named)
        if (dtype.is_string()) dtypes.emplace(dtype.get_string());
  // Verdicts of earlier versions state them in the record alone.
  if (evidence && dtypes.empty()) dtypes = dtypes_of(*evidence);
  if (evidence || !dtypes.empty()) rows.dtype.set(row, fmt::format("{}", fmt::join(dtypes, ", ")));
}

void mark_unfinished(Rows& rows) {
  std::size_t row = rows.count - 1;
  rows.unfinished.set(row, true);
  rows.standing.set(row, to_string(score::Standing::unknown));
}

void fill_trace(const Trace& trace, Trust least, Rows& rows, Turns& turns) {
  std::size_t row = rows.count - 1;
  const Task& task = trace.task;
  rows.kind.set(row, to_string(RowKind::trace));
  rows.task_id.set(row, task.task_id);
  rows.name.set(row, task.name.empty() ? sample_key(task) : task.name);
  rows.task_source.set(row, task.source);
  rows.level.set(row, task.level);
  rows.licence.set(row, task.licence);
  rows.sample_number.set(row, static_cast<std::int64_t>(trace.sample_number));
  rows.standing.set(row, to_string(score::Standing::unknown));
  Sums sums;
  for (std::size_t round = 0; round < trace.rounds.size(); ++round)
    for (const Turn& turn : trace.rounds[round].turns) {
      add_turn(turn, round + 1, least, row, turns, sums);
      if (rows.model.is_null(row)) rows.model.set(row, turn.model);
    }
  rows.turns.set(row, sums.turns);
  rows.prompt_tokens.set(row, sums.prompt_tokens);
  rows.completion_tokens.set(row, sums.completion_tokens);
  rows.reasoning_tokens.set(row, sums.reasoning_tokens);
  rows.generation_ms.set(row, sums.generation_ms);
  rows.judge_ms.set(row, sums.judge_ms);
  const Conversation* shown = best_round(trace);
  if (!shown) return;
  rows.stop_reason.set(row, word_of(shown->stop_reason));
  const Turn* best = best_turn(*shown);
  if (best && best->verdict) fill_judged(*best->verdict, least, row, rows);
}

void fill_verdict(const Verdict& verdict, const json::object& fields, Trust least, Rows& rows) {
  std::size_t row = rows.count - 1;
  rows.kind.set(row, to_string(RowKind::verdict));
  rows.task_id.set(row, verdict.task_id);
  rows.name.set(row, first_text(fields, {"name", "kernel_name", "sample_key", "id"}));
  rows.task_source.set(row, text(fields, "source"));
  rows.level.set(row, text(fields, "level"));
  rows.model.set(row, text(fields, "model"));
  rows.licence.set(row, licence_of(fields));
  rows.sample_number.set(row, static_cast<std::int64_t>(verdict.sample_number));
  fill_judged(verdict, least, row, rows);
  if (!verdict.stages_ms.empty()) rows.judge_ms.set(row, judge_ms(verdict));
}

void fill_dataset(const json::object& fields, Rows& rows) {
  std::size_t row = rows.count - 1;
  rows.kind.set(row, to_string(RowKind::dataset));
  rows.task_id.set(row, text(fields, "task_id"));
  const json::object* source = object_at(fields, "source");
  rows.name.set(row, name_of(fields));
  rows.task_source.set(row, source ? text(*source, "name") : first_text(fields, {"source_name", "source"}));
  rows.level.set(row, text(fields, "level"));
  rows.model.set(row, text(fields, "model"));
  rows.licence.set(row, licence_of(fields));
  rows.dataset_kind.set(row, text(fields, "kind"));
  rows.split.set(row, text(fields, "split"));
  rows.tokens.set(row, count_at(fields, "tokens"));
  rows.duplicate_of.set(row, text(fields, "duplicate_of"));
  if (const json::value* leaks = fields.if_contains("leakage"); leaks && leaks->is_array()) {
    auto against_benchmark = [](std::int64_t sum, const json::value& leak) {
      return sum + (leak.is_object() && text(leak.get_object(), "relation") == "benchmark" ? 1 : 0);
    };
    const json::array& list = leaks->get_array();
    rows.leakage.set(row, std::accumulate(list.begin(), list.end(), std::int64_t{0}, against_benchmark));
  }
  const json::object* labels = object_at(fields, "labels");
  rows.compile.set(row, text(labels ? *labels : fields, "compile"));
  const json::object* verdict = object_at(fields, "verdict");
  if (!verdict) return;
  if (auto judged = verdict_from_json(*verdict)) fill_judged(*judged, Trust::in_process, row, rows);
}

namespace {

// A licence in any form: its name, an object with its name, or a list of these. A structure without a name
// is given as JSON, which is no permissive licence.
std::string licence_words(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_number()) return json::serialize(value);
  if (const json::object* object = value.if_object()) {
    std::string named = first_text(*object, {"spdx", "spdx_id", "key", "id", "name"});
    return named.empty() && !object->empty() ? json::serialize(value) : named;
  }
  std::string all;
  if (const json::array* list = value.if_array())
    for (const json::value& each : *list)
      if (std::string words = licence_words(each); !words.empty())
        all += fmt::format("{}{}", all.empty() ? "" : ", ", words);
  return all;
}

}  // namespace

std::string licence_of(const json::object& fields) {
  for (std::string_view key : {"licence", "license", "licences", "licenses", "License"})
    if (const json::value* value = fields.if_contains(key))
      if (std::string found = licence_words(*value); !found.empty()) return found;
  const json::object* metadata = object_at(fields, "metadata");
  return metadata ? licence_of(*metadata) : std::string();
}

bool is_restricted(std::string_view licence) {
  while (!trim(licence).empty()) {
    std::size_t comma = std::min(licence.find(','), licence.size());
    auto expression = licence::as_expression(trim(licence.substr(0, comma)));
    if (!expression || !licence::allowed(*expression, licence::permissive())) return true;
    licence.remove_prefix(std::min(comma + 1, licence.size()));
  }
  return false;
}

}  // namespace kw::report
