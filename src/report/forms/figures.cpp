#include "report/forms/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <concepts>
#include <map>
#include <set>
#include <utility>

#include "base/core/display.h"
#include "base/core/json.h"
#include "report/forms/csv.h"
#include "report/forms/markdown.h"

namespace kw::report {
namespace json = boost::json;
namespace {

using score::Standing;

// A figure while it is made.
struct Draft {
  std::string name = {};
  std::string title = {};
  std::string kind = {};  // of report.py
  std::string subtitle = {};
  json::object drawing = {};             // the fields of its kind
  std::vector<std::string> header = {};  // of the CSV
  std::vector<std::vector<std::string>> lines = {};
  std::vector<std::string> notes = {};   // sentences of the caption
  std::vector<std::string> claims = {};  // names of figures of claims
  std::string why_not = {};              // a sentence; empty: drawn
  bool is_by_source = false;             // several sources are shown apart, not pooled
};

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::string cell(std::integral auto value) {
  return fmt::format("{}", value);
}

std::string cell(double value) {
  return fmt::format("{}", value);
}

json::value low_of(const score::Estimate& estimate) {
  return estimate.interval ? json::value(estimate.interval->low) : json::value();
}

json::value high_of(const score::Estimate& estimate) {
  return estimate.interval ? json::value(estimate.interval->high) : json::value();
}

std::vector<std::string> estimate_fields(const score::Estimate& estimate) {
  return {cell(estimate.value), estimate.interval ? fmt::format("{}", estimate.interval->low) : "",
          estimate.interval ? fmt::format("{}", estimate.interval->high) : "", estimate.method};
}

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string count_words(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", fmt::group_digits(count), count == 1 ? one : many);
}

std::string tasks_and_samples(const Summary& summary) {
  std::string text =
      fmt::format("{}, {}", count_words(summary.tasks, "task", "tasks"),
                  count_words(summary.right + summary.wrong, "judged sample", "judged samples"));
  if (summary.unfinished > 0)
    text += fmt::format("; {} unfinished", count_words(summary.unfinished, "sample is", "samples are"));
  return text;
}

// Without any speed, only p = 0 has a value.
json::array curve_points(const score::FastCurve& curve, bool has_speeds) {
  json::array points;
  for (const score::FastPoint& point : curve.points) {
    if (point.p > 0 && !has_speeds) continue;
    points.push_back(json::object{{"x", point.p},
                                  {"y", value_or_null(point.share.value)},
                                  {"low", low_of(point.share)},
                                  {"high", high_of(point.share)},
                                  {"at_least", value_or_null(point.at_least.value)},
                                  {"at_most", value_or_null(point.at_most.value)}});
  }
  return points;
}

// `source`: the name of one of several, or empty.
void add_curve(Draft& draft, const std::string& source, const char* baseline, const score::FastCurve& curve,
               bool has_speeds) {
  std::string name =
      fmt::format("{}{}against {}", visible_line(source), source.empty() ? "" : ", ", baseline);
  draft.drawing["series"].as_array().push_back(
      json::object{{"name", std::move(name)}, {"points", curve_points(curve, has_speeds)}});
  for (const score::FastPoint& point : curve.points)
    draft.lines.push_back(joined(joined({source, baseline, cell(point.p)}, estimate_fields(point.share)),
                                 {cell(point.at_least.value), cell(point.at_most.value), cell(point.faster),
                                  cell(point.unknown_speeds)}));
}

// The summaries that a figure shows apart: of each source, or of all rows with an empty name.
std::vector<std::pair<std::string, const Summary*>> shown_apart(const Index& index,
                                                                const Overview& overview) {
  if (!overview.is_pooled()) return {{"", &overview.summary}};
  std::vector<std::pair<std::string, const Summary*>> shown;
  for (const SourceSummary& each : overview.by_source)
    shown.emplace_back(index.sources[each.source].name, &each.summary);
  return shown;
}

Draft fast_p(const Index& index, const Overview& overview) {
  const Summary& summary = overview.summary;
  Draft draft{.name = "fast_p", .title = "fast_p: right, and more than p times as fast", .kind = "curve"};
  draft.subtitle = tasks_and_samples(summary) + "; 95% intervals";
  draft.header = {"source", "baseline", "p",       "share",  "low",           "high",
                  "method", "at_least", "at_most", "faster", "unknown_speeds"};
  draft.drawing = {{"axis", "p"},
                   {"x_label", "p: times the speed of the reference"},
                   {"y_label", "share of tasks"},
                   {"series", json::array()}};
  draft.claims = {"fast_0", "fast_1", "fast_1_compile"};
  draft.is_by_source = true;
  if (summary.tasks == 0) {
    draft.why_not = "no sample was judged";
    return draft;
  }
  bool has_speeds = summary.no_speed.empty();
  for (const auto& [name, shown] : shown_apart(index, overview)) {
    add_curve(draft, name, "PyTorch eager", shown->fast_p, shown->no_speed.empty());
    if (shown->fast_p_compile) add_curve(draft, name, "torch.compile", *shown->fast_p_compile, true);
  }
  bool is_missing = !has_speeds;
  if (is_missing) draft.subtitle += "; speed not measured";
  if (is_missing)
    draft.notes.push_back(fmt::format(
        "Speed was not measured: {}. Only p = 0, the share of right answers, is drawn.", summary.no_speed));
  else if (has_speeds && !summary.fast_p_compile)
    draft.notes.emplace_back("Speed against torch.compile was not measured.");
  draft.notes.emplace_back(
      "Each task counts with the share of its samples. A wide pale bar spans the values that are possible "
      "where right "
      "samples have no known speed.");
  return draft;
}

std::string sample_name(const Rows& rows, std::size_t row, bool has_samples) {
  std::string name = task_label(rows, row);
  auto sample = rows.sample_number[row];
  return has_samples && sample ? fmt::format("{} #{}", name, *sample) : name;
}

bool has_several_samples(const Rows& rows) {
  std::set<std::string> tasks;
  for (std::size_t row = 0; row < rows.count; ++row)
    if (speedup_of(rows, row, Baseline::eager) && !tasks.insert(task_of(rows, row)).second) return true;
  return false;
}

Draft speedups(const Index& index, const Overview& overview) {
  const Summary& summary = overview.summary;
  const Rows& rows = index.rows;
  Draft draft{.name = "speedups", .title = "Speed-up of each right sample", .kind = "strip"};
  draft.header = {"task_id", "sample_number", "source", "speedup", "low", "high", "compile_speedup", "trust"};
  draft.claims = {"geometric_mean_speedup", "fast_1"};
  json::array points;
  bool has_samples = has_several_samples(rows);
  for (std::size_t row = 0; row < rows.count; ++row) {
    auto speed = speedup_of(rows, row, Baseline::eager);
    if (!is_sample(rows, row, {}) || !speed) continue;
    points.push_back(json::object{{"name", visible_line(sample_name(rows, row, has_samples))},
                                  {"value", *speed},
                                  {"low", value_or_null(rows.speedup_low[row])},
                                  {"high", value_or_null(rows.speedup_high[row])}});
    auto source = static_cast<std::size_t>(rows.source[row].value_or(-1));
    draft.lines.push_back({task_of(rows, row), cell(rows.sample_number[row].value_or(0)),
                           source < index.sources.size() ? index.sources[source].name : "", cell(speed),
                           cell(rows.speedup_low[row]), cell(rows.speedup_high[row]),
                           cell(speedup_of(rows, row, Baseline::compile)), std::string(rows.trust[row])});
  }
  if (points.empty()) {
    draft.why_not = "no right sample has a known speed";
    return draft;
  }
  draft.subtitle = fmt::format("{} of {} with a known speed; lines are intervals of about 95%",
                               count_words(points.size(), "right sample", "right samples"), summary.right);
  draft.notes.emplace_back(
      "An interval is the reference's lower bound over the kernel's upper bound, to the opposite.");
  if (!overview.is_pooled())
    draft.notes.emplace_back("The dashed line is the geometric mean over tasks, the grey band its interval.");
  const score::Estimate mean = overview.is_pooled() ? score::Estimate() : summary.geometric_mean_speedup;
  draft.drawing = {
      {"x_label", "speed-up over PyTorch eager (logarithmic)"},
      {"rows", std::move(points)},
      {"mean",
       json::object{{"value", value_or_null(mean.value)}, {"low", low_of(mean)}, {"high", high_of(mean)}}}};
  return draft;
}

Draft right_by_turn(const Index& index, const Overview& overview) {
  const Summary& summary = overview.summary;
  Draft draft{.name = "right_by_turn", .title = "Right by turn", .kind = "curve"};
  draft.header = {"source", "turn", "samples", "right", "share", "low", "high", "method"};
  draft.claims = {"fast_0"};
  draft.is_by_source = true;
  if (summary.right_by_turn.empty()) {
    draft.why_not = "no turn was judged";
    return draft;
  }
  json::array series;
  for (const auto& [name, shown] : shown_apart(index, overview)) {
    json::array points;
    for (const TurnPoint& point : shown->right_by_turn) {
      points.push_back(json::object{{"x", point.turn},
                                    {"y", value_or_null(point.share.value)},
                                    {"low", low_of(point.share)},
                                    {"high", high_of(point.share)}});
      draft.lines.push_back(joined({name, cell(point.turn), cell(point.samples), cell(point.right)},
                                   estimate_fields(point.share)));
    }
    series.push_back(
        json::object{{"name", name.empty() ? "right" : visible_line(name)}, {"points", std::move(points)}});
  }
  draft.subtitle = fmt::format("share right in this turn or before; {}; 95% intervals",
                               count_words(summary.right_by_turn.front().samples, "sample", "samples"));
  draft.notes.emplace_back("Each task counts with the share of its samples.");
  draft.drawing = {
      {"axis", "turn"}, {"x_label", "turn"}, {"y_label", "share of tasks"}, {"series", std::move(series)}};
  return draft;
}

Draft errors_by_turn(const Summary& summary) {
  Draft draft{.name = "errors_by_turn", .title = "Errors by turn", .kind = "table"};
  draft.header = {"turn", "error", "turns"};
  if (summary.errors_by_turn.empty()) {
    draft.why_not = "no wrong turn was found";
    return draft;
  }
  std::map<std::string, std::size_t> totals;
  json::array columns;
  for (const auto& [turn, errors] : summary.errors_by_turn) {
    columns.emplace_back(fmt::format("{}", turn));
    for (const auto& [word, count] : errors) {
      totals[word] += count;
      draft.lines.push_back({cell(turn), word, cell(count)});
    }
  }
  std::vector<std::pair<std::string, std::size_t>> sorted(totals.begin(), totals.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  json::array rows;
  std::size_t all = 0;
  for (const auto& [word, total] : sorted) {
    all += total;
    json::array values;
    for (const auto& [turn, errors] : summary.errors_by_turn) {
      auto found = errors.find(word);
      values.emplace_back(found == errors.end() ? 0 : found->second);
    }
    rows.push_back(json::object{{"name", visible_line(word)}, {"values", std::move(values)}});
  }
  draft.subtitle = fmt::format("{} that are wrong or do not count", count_words(all, "turn", "turns"));
  std::size_t faults = 0;
  for (const auto& fault : summary.faults) faults += fault.second;
  if (faults > 0)
    draft.notes.push_back(
        fmt::format("{} not judged, through a fault of the task or of the infrastructure: not drawn.",
                    count_words(faults, "turn was", "turns were")));
  draft.drawing = {{"x_label", "turn"}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
  return draft;
}

// A panel of bars over turns, with the series that state a value.
class Panel {
 public:
  Panel(const std::vector<TurnCosts>& costs, const char* title) : costs_(costs), title_(title) {}

  void add(const char* name, std::optional<double> TurnCosts::* value) {
    json::array values;
    bool is_known = false;
    for (const TurnCosts& each : costs_) {
      is_known |= (each.*value).has_value();
      values.push_back(value_or_null(each.*value));
    }
    if (is_known) series_.push_back(json::object{{"name", name}, {"values", std::move(values)}});
  }
  void add_to(json::array& panels) {
    if (series_.empty()) return;
    json::array columns;
    for (const TurnCosts& each : costs_) columns.emplace_back(fmt::format("{}", each.turn));
    panels.push_back(
        json::object{{"title", title_}, {"columns", std::move(columns)}, {"series", std::move(series_)}});
  }

 private:
  const std::vector<TurnCosts>& costs_;
  const char* title_;
  json::array series_;
};

Draft tokens_and_time(const Summary& summary) {
  Draft draft{.name = "tokens_and_time", .title = "Tokens and time by turn", .kind = "bars"};
  draft.header = {"turn",         "turns",  "prompt_tokens", "completion_tokens", "reasoning_tokens",
                  "generation_s", "judge_s"};
  json::array panels;
  Panel tokens(summary.costs_by_turn, "tokens, mean of a turn");
  tokens.add("prompt", &TurnCosts::prompt_tokens);
  tokens.add("completion", &TurnCosts::completion_tokens);
  tokens.add("of these reasoning", &TurnCosts::reasoning_tokens);
  tokens.add_to(panels);
  Panel seconds(summary.costs_by_turn, "seconds, mean of a turn");
  seconds.add("generation", &TurnCosts::generation_s);
  seconds.add("judging", &TurnCosts::judge_s);
  seconds.add_to(panels);
  if (panels.empty()) {
    draft.why_not = "no turn states its tokens or its time";
    return draft;
  }
  for (const TurnCosts& each : summary.costs_by_turn)
    draft.lines.push_back({cell(each.turn), cell(each.turns), cell(each.prompt_tokens),
                           cell(each.completion_tokens), cell(each.reasoning_tokens), cell(each.generation_s),
                           cell(each.judge_s)});
  draft.subtitle = "means over the turns that state a value";
  draft.notes.emplace_back("What no turn states is not drawn.");
  draft.drawing = {{"x_label", "turn"}, {"panels", std::move(panels)}};
  return draft;
}

Draft roofline(const Index& index) {
  const Rows& rows = index.rows;
  Draft draft{.name = "roofline", .title = "Kernels below the memory's roof", .kind = "roof"};
  draft.header = {"task_id", "sample_number", "kernel_time_ms", "roofline_share", "gpu"};
  json::array points;
  for (std::size_t row = 0; row < rows.count; ++row) {
    auto share = rows.roofline_share[row];
    auto time_ms = rows.kernel_time_ms[row];
    if (!is_sample(rows, row, {}) || standing_of(rows, row) != Standing::right || !share || !time_ms)
      continue;
    points.push_back(
        json::object{{"name", visible_line(task_label(rows, row))}, {"x", *time_ms}, {"y", *share}});
    draft.lines.push_back({task_of(rows, row), cell(rows.sample_number[row].value_or(0)), cell(time_ms),
                           cell(share), std::string(rows.gpu[row])});
  }
  if (points.empty()) {
    draft.why_not = "no right sample states its share of the roofline";
    return draft;
  }
  draft.subtitle = fmt::format("{} with a known share of the roof",
                               count_words(points.size(), "right sample", "right samples"));
  draft.notes.emplace_back(
      "The share is the least time in which inputs and outputs pass the GPU's memory, divided by the "
      "kernel's time. "
      "Arithmetic is not considered.");
  draft.drawing = {{"x_label", "kernel time (ms, logarithmic)"},
                   {"y_label", "share of the memory's roof"},
                   {"points", std::move(points)}};
  return draft;
}

std::string caption_of(const Draft& draft, const Index& index, const std::vector<Claim>& claims) {
  std::string text = draft.title + ".\n";
  if (!draft.why_not.empty()) text += fmt::format("Not drawn: {}.\n", draft.why_not);
  if (!draft.subtitle.empty()) text += draft.subtitle + ".\n";
  for (const std::string& note : draft.notes) text += note + "\n";
  for (const Claim& claim : claims)
    if (std::ranges::find(draft.claims, claim.figure) != draft.claims.end()) text += "\n" + claim.text + "\n";
  return text +
         fmt::format("\nReport \"{}\", kernelwright {}.\n", visible_line(index.title), index.program_version);
}

Figure figure_of(Draft draft, const Index& index, const std::vector<Claim>& claims) {
  Figure figure{
      .name = draft.name, .description = {}, .csv = {}, .caption = caption_of(draft, index, claims)};
  if (!draft.lines.empty()) {
    figure.csv = csv_line(draft.header);
    for (const std::vector<std::string>& line : draft.lines) figure.csv += csv_line(line);
  }
  if (!draft.why_not.empty()) return figure;
  figure.description = {
      {"name", draft.name}, {"kind", draft.kind}, {"title", draft.title}, {"subtitle", draft.subtitle}};
  for (auto& member : draft.drawing) figure.description[member.key()] = std::move(member.value());
  return figure;
}

}  // namespace

std::vector<Figure> figures_of(const Index& index, const Overview& overview) {
  const Summary& summary = overview.summary;
  std::vector<Figure> figures;
  for (Draft& draft :
       std::array{fast_p(index, overview), speedups(index, overview), right_by_turn(index, overview),
                  errors_by_turn(summary), tokens_and_time(summary), roofline(index)}) {
    if (overview.is_pooled() && !draft.subtitle.empty())
      draft.subtitle += draft.is_by_source ? fmt::format("; {} sources apart", overview.by_source.size())
                                           : "; " + pooled_words(overview);
    figures.push_back(figure_of(std::move(draft), index, overview.claims));
  }
  return figures;
}

}  // namespace kw::report
