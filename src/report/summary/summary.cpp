#include "report/summary/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cmath>

#include "base/core/json.h"
#include "report/summary/by_turn.h"
#include "score/report/sections.h"

namespace kw::report {
namespace json = boost::json;
namespace {

using score::Standing;

// Adds up the values that are stated, and stays empty if none is.
template <typename Number>
void add(std::optional<Number>& sum, const std::optional<Number>& value) {
  if (value && *value > 0) sum = sum.value_or(Number{0}) + *value;
}

void add_costs(const Rows& rows, std::size_t row, Summary& summary) {
  add(summary.prompt_tokens, rows.prompt_tokens[row]);
  add(summary.completion_tokens, rows.completion_tokens[row]);
  add(summary.reasoning_tokens, rows.reasoning_tokens[row]);
  add(summary.generation_s, rows.generation_ms[row]);
  add(summary.judge_s, rows.judge_ms[row]);
}

// A row without turns is one verdict.
void add_evidence(const Index& index, const WantedRow& wanted, EvidenceCounts& counts) {
  const Rows& rows = index.rows;
  const Turns& turns = index.turns;
  for (std::size_t row = 0; row < rows.count; ++row) {
    if (!is_sample(rows, row, wanted) || rows.status.is_null(row)) continue;
    ++counts.best_judged;
    counts.best_kept += rows.evidence[row].value_or(false);
    if (rows.kind[row] != to_string(RowKind::verdict)) continue;
    ++counts.judged;
    counts.kept += rows.evidence[row].value_or(false);
  }
  for (std::size_t at = 0; at < turns.count; ++at) {
    auto row = static_cast<std::size_t>(turns.row[at].value_or(-1));
    if (row >= rows.count || !is_sample(rows, row, wanted) || turns.status.is_null(at)) continue;
    ++counts.judged;
    counts.kept += turns.evidence[at].value_or(false);
  }
}

void to_seconds(std::optional<double>& value) {
  if (value) *value /= 1000;
}

// The first of the fastest right rows of its task, or the first right one while no speed is known.
void keep_best(const Rows& rows, std::size_t row, std::map<std::string, std::size_t>& best) {
  auto [kept, is_first] = best.emplace(task_of(rows, row), row);
  if (is_first) return;
  double speed = speedup_of(rows, row, Baseline::eager).value_or(0);
  if (speed > speedup_of(rows, kept->second, Baseline::eager).value_or(0)) kept->second = row;
}

std::string_view why_no_speed(const Rows& rows, const WantedRow& wanted) {
  std::size_t judged = 0, right = 0, without_gpu = 0;
  for (std::size_t row = 0; row < rows.count; ++row) {
    if (!is_sample(rows, row, wanted) || standing_of(rows, row) == Standing::unknown) continue;
    if (speedup_of(rows, row, Baseline::eager)) return {};
    ++judged;
    right += standing_of(rows, row) == Standing::right;
    // Verdicts of this program have a protocol, and name the GPU if there is one.
    bool names_no_gpu = rows.gpu.is_null(row) && !rows.protocol.is_null(row);
    without_gpu += names_no_gpu || rows.trust[row] == to_string(Trust::interpreter);
  }
  if (judged == 0) return "no sample was judged";
  if (without_gpu == judged) return "no GPU";
  return right == 0 ? "no answer is right" : "no right answer was timed";
}

// Without any speed, a share of 0 would only state that nothing was measured.
void leave_speeds_out(std::string_view why, score::FastCurve& curve) {
  score::Estimate none;
  none.why = fmt::format("speed not measured: {}", why);
  none.tasks = curve.tasks;
  for (score::FastPoint& point : curve.points)
    if (point.p > 0) point.share = point.at_least = point.at_most = none;
}

json::array curve_json(const score::FastCurve& curve) {
  json::array points;
  for (const score::FastPoint& point : curve.points) {
    json::object object{{"p", point.p}, {"share", value_or_null(point.share.value)}};
    object["low"] = point.share.interval ? json::value(point.share.interval->low) : json::value();
    object["high"] = point.share.interval ? json::value(point.share.interval->high) : json::value();
    object["at_least"] = value_or_null(point.at_least.value);
    object["at_most"] = value_or_null(point.at_most.value);
    object["method"] = point.share.method;
    object["faster"] = point.faster;
    object["unknown_speeds"] = point.unknown_speeds;
    points.push_back(std::move(object));
  }
  return points;
}

json::object counts_json(const std::map<std::string, std::size_t>& counts) {
  json::object object;
  for (const auto& [name, count] : counts) object[name] = count;
  return object;
}

json::array turns_json(const std::vector<TurnPoint>& points) {
  json::array list;
  for (const TurnPoint& point : points) {
    json::object object{{"turn", point.turn}, {"samples", point.samples}, {"right", point.right}};
    object["share"] = value_or_null(point.share.value);
    object["low"] = point.share.interval ? json::value(point.share.interval->low) : json::value();
    object["high"] = point.share.interval ? json::value(point.share.interval->high) : json::value();
    object["method"] = point.share.method;
    list.push_back(std::move(object));
  }
  return list;
}

json::array errors_json(const std::map<std::size_t, std::map<std::string, std::size_t>>& errors) {
  json::array list;
  for (const auto& [turn, words] : errors)
    list.push_back(json::object{{"turn", turn}, {"errors", counts_json(words)}});
  return list;
}

}  // namespace

bool is_sample(const Rows& rows, std::size_t row, const WantedRow& wanted) {
  return rows.kind[row] != to_string(RowKind::dataset) && (!wanted || wanted(row));
}

std::string task_of(const Rows& rows, std::size_t row) {
  return std::string(rows.task_id.is_null(row) ? std::string_view(rows.key[row]) : rows.task_id[row]);
}

bool is_unfinished(const Rows& rows, std::size_t row) {
  return rows.unfinished[row].value_or(false);
}

Standing standing_of(const Rows& rows, std::size_t row) {
  if (is_unfinished(rows, row)) return Standing::unknown;
  return from_string<Standing>(rows.standing[row]).value_or(Standing::unknown);
}

std::optional<double> speedup_of(const Rows& rows, std::size_t row, Baseline baseline) {
  if (standing_of(rows, row) != Standing::right) return {};
  std::optional<double> value = baseline == Baseline::eager ? rows.speedup[row] : rows.compile_speedup[row];
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

std::vector<score::Outcome> outcomes_of(const Index& index, const WantedRow& wanted, Baseline baseline) {
  const Rows& rows = index.rows;
  std::vector<score::Outcome> outcomes;
  for (std::size_t row = 0; row < rows.count; ++row)
    if (is_sample(rows, row, wanted) && !is_unfinished(rows, row))
      outcomes.push_back({task_of(rows, row), standing_of(rows, row), speedup_of(rows, row, baseline)});
  return outcomes;
}

Summary summarise(const Index& index, const WantedRow& wanted, const score::Bootstrap& bootstrap) {
  const Rows& rows = index.rows;
  Summary summary;
  bool has_compile_times = false;
  for (std::size_t row = 0; row < rows.count; ++row) {
    if (!is_sample(rows, row, wanted)) continue;
    ++summary.rows;
    add_costs(rows, row, summary);
    if (is_unfinished(rows, row)) {
      ++summary.unfinished;
      continue;
    }
    has_compile_times |= speedup_of(rows, row, Baseline::compile).has_value();
    Standing standing = standing_of(rows, row);
    ++(standing == Standing::right   ? summary.right
       : standing == Standing::wrong ? summary.wrong
                                     : summary.unknown);
    if (standing == Standing::right) keep_best(rows, row, summary.best_kernel_of_task);
  }
  to_seconds(summary.generation_s);
  to_seconds(summary.judge_s);
  auto tasks = score::by_task(outcomes_of(index, wanted));
  summary.fast_p = score::fast_p(tasks, score::usual_p, bootstrap);
  summary.no_speed = why_no_speed(rows, wanted);
  if (!summary.no_speed.empty()) leave_speeds_out(summary.no_speed, summary.fast_p);
  summary.tasks = summary.fast_p.tasks;
  summary.geometric_mean_speedup = score::geometric_mean_speedup(tasks, bootstrap);
  if (has_compile_times) {
    auto against_compile = score::by_task(outcomes_of(index, wanted, Baseline::compile));
    summary.fast_p_compile = score::fast_p(against_compile, score::usual_p, bootstrap);
    summary.geometric_mean_compile_speedup = score::geometric_mean_speedup(against_compile, bootstrap);
  }
  add_turns(index, wanted, bootstrap, summary);
  add_evidence(index, wanted, summary.evidence);
  return summary;
}

json::object to_json(const Summary& summary) {
  double confidence = score::Bootstrap{}.confidence;
  json::object best;
  for (const auto& [task, row] : summary.best_kernel_of_task) best[task] = row;
  return {{"rows", summary.rows},
          {"tasks", summary.tasks},
          {"right", summary.right},
          {"wrong", summary.wrong},
          {"unknown", summary.unknown},
          {"unfinished", summary.unfinished},
          {"no_speed", summary.no_speed.empty() ? json::value() : json::value(summary.no_speed)},
          {"fast_p", curve_json(summary.fast_p)},
          {"fast_p_compile",
           summary.fast_p_compile ? json::value(curve_json(*summary.fast_p_compile)) : json::value()},
          {"geometric_mean_speedup", scoring::to_json(summary.geometric_mean_speedup, confidence)},
          {"geometric_mean_compile_speedup",
           scoring::to_json(summary.geometric_mean_compile_speedup, confidence)},
          {"right_by_turn", turns_json(summary.right_by_turn)},
          {"errors_by_turn", errors_json(summary.errors_by_turn)},
          {"faults", counts_json(summary.faults)},
          {"tokens",
           {{"prompt", value_or_null(summary.prompt_tokens)},
            {"completion", value_or_null(summary.completion_tokens)},
            {"reasoning", value_or_null(summary.reasoning_tokens)}}},
          {"generation_s", value_or_null(summary.generation_s)},
          {"judge_s", value_or_null(summary.judge_s)},
          {"best_kernel_of_task", std::move(best)},
          {"evidence",
           {{"judged", summary.evidence.judged},
            {"kept", summary.evidence.kept},
            {"best_judged", summary.evidence.best_judged},
            {"best_kept", summary.evidence.best_kept}}}};
}

}  // namespace kw::report
