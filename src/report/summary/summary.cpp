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

Standing standing_of(const Rows& rows, std::size_t row) {
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
    if (is_sample(rows, row, wanted))
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
  summary.tasks = summary.fast_p.tasks;
  summary.geometric_mean_speedup = score::geometric_mean_speedup(tasks, bootstrap);
  if (has_compile_times) {
    auto against_compile = score::by_task(outcomes_of(index, wanted, Baseline::compile));
    summary.fast_p_compile = score::fast_p(against_compile, score::usual_p, bootstrap);
    summary.geometric_mean_compile_speedup = score::geometric_mean_speedup(against_compile, bootstrap);
  }
  add_turns(index, wanted, bootstrap, summary);
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
          {"best_kernel_of_task", std::move(best)}};
}

}  // namespace kw::report
