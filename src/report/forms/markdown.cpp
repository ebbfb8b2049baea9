#include "report/forms/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <set>

#include "base/core/counted.h"
#include "base/core/text.h"
#include "score/report/report.h"
#include "types/card.h"

namespace kw::report {
namespace json = boost::json;
namespace {

using scoring::View;

constexpr std::size_t most_rows = 500;

// Value, interval, method, or why there is no interval.
std::string estimate_cells(const score::Estimate& estimate) {
  std::string interval =
      estimate.interval ? fmt::format("{:.3f} to {:.3f}", estimate.interval->low, estimate.interval->high)
                        : "";
  return fmt::format("{} | {} | {}", scoring::number_words(estimate.value), interval,
                     estimate.method.empty() ? estimate.why : estimate.method);
}

std::string number_or_dash(const std::optional<double>& value, int digits = 3) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "–";
}

std::string head_of(const Index& index) {
  std::string text = fmt::format("{}# {}\n\n", markdown_mark, markdown_text(index.title));
  text += fmt::format("Report of kernelwright {}, {}. ", index.program_version, index.made_at);
  text += index.contents.redacted ? "Prompts, paths, hosts and keys are left out.\n\n" : "\n\n";
  text += "| source | kind | state | messages |\n|---|---|---|---|\n";
  for (const SourceFacts& source : index.sources) {
    std::string messages;
    for (const std::string& message : source.messages)
      messages += fmt::format("{}{}", messages.empty() ? "" : "; ", markdown_text(message));
    text += fmt::format("| {} | {} | {} | {} |\n", markdown_text(source.name), to_string(source.kind),
                        to_string(source.state), messages);
  }
  for (const Contents::LeftOut& left : index.contents.left_out)
    text += fmt::format("\nLeft out: {} {} ({}).\n", left.count, markdown_text(left.what),
                        markdown_text(left.why));
  return text + "\n";
}

// Of one source, or of all rows.
std::string claims_part(const std::vector<Claim>& claims, std::optional<std::size_t> source) {
  if (std::ranges::find(claims, source, &Claim::source) == claims.end()) return {};
  std::string text = "Each line below can be pasted as it is.\n\n";
  // The line begins with our words, so it cannot end the fence.
  for (const Claim& claim : claims)
    if (claim.source == source) text += fmt::format("```text\n{}\n```\n\n", claim.text);
  return text;
}

// Without any speed, only p = 0 has a value: the points above it are left out.
std::string curve_part(const std::string& level, std::string_view baseline, const score::FastCurve& curve,
                       bool has_speeds) {
  std::string text = fmt::format(
      "{} fast_p against {}\n\nThe share of tasks whose answer is right and more than p times as fast. "
      "Where the "
      "speed of a right answer is unknown, there are only bounds.\n\n"
      "| p | share | 95% interval | method | at least | at most | faster | right, speed unknown |\n"
      "|---:|---:|---|---|---:|---:|---:|---:|\n",
      level, baseline);
  for (const score::FastPoint& point : curve.points) {
    if (point.p > 0 && !has_speeds) continue;
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", point.p, estimate_cells(point.share),
                        scoring::number_words(point.at_least.value),
                        scoring::number_words(point.at_most.value), point.faster, point.unknown_speeds);
  }
  return text + "\n";
}

std::string turns_part(const Summary& summary) {
  if (summary.right_by_turn.empty()) return {};
  std::string text =
      "### Right by turn\n\n`right` counts samples that are right in this turn or before.\n\n"
      "| turn | samples | right | share | 95% interval | method |\n|---:|---:|---:|---:|---|---|\n";
  for (const TurnPoint& point : summary.right_by_turn)
    text += fmt::format("| {} | {} | {} | {} |\n", point.turn, point.samples, point.right,
                        estimate_cells(point.share));
  return text + "\n";
}

std::string costs_part(const Summary& summary) {
  if (summary.costs_by_turn.empty()) return {};
  std::string text =
      "### Tokens and time by turn\n\nMeans over the turns that state a value.\n\n"
      "| turn | turns | prompt tokens | completion tokens | of these reasoning | generation (s) | judging "
      "(s) |\n"
      "|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const TurnCosts& costs : summary.costs_by_turn)
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", costs.turn, costs.turns,
                        number_or_dash(costs.prompt_tokens, 0), number_or_dash(costs.completion_tokens, 0),
                        number_or_dash(costs.reasoning_tokens, 0), number_or_dash(costs.generation_s, 2),
                        number_or_dash(costs.judge_s, 2));
  return text + "\n";
}

std::string errors_part(const Summary& summary) {
  if (summary.errors_by_turn.empty()) return {};
  std::set<std::string> words;
  std::string text = "### Errors by turn\n\n| error |";
  std::string rule = "\n|---|";
  for (const auto& [turn, errors] : summary.errors_by_turn) {
    text += fmt::format(" turn {} |", turn);
    rule += "---:|";
    for (const auto& error : errors) words.insert(error.first);
  }
  text += rule + "\n";
  for (const std::string& word : words) {
    text += fmt::format("| {} |", markdown_text(word));
    for (const auto& [turn, errors] : summary.errors_by_turn) {
      auto count = errors.find(word);
      text += fmt::format(" {} |", count == errors.end() ? 0 : count->second);
    }
    text += "\n";
  }
  return text + "\n";
}

std::string faults_part(const Summary& summary) {
  if (summary.faults.empty()) return {};
  std::string text =
      "### Turns not judged\n\nThese turns are in no share: no verdict on the answer exists.\n\n| reason | "
      "turns "
      "|\n|---|---:|\n";
  for (const auto& [word, count] : summary.faults)
    text += fmt::format("| {} | {} |\n", markdown_text(word), count);
  return text + "\n";
}

// Headline figures and fast_p of one source, or of all rows.
std::string headline_part(const Summary& summary, const std::string& level) {
  std::string text = fmt::format("Right and counting: {}, over {}.\n\n", right_words(summary),
                                 counted(summary.tasks, "task"));
  for (const std::string& sentence : not_measured(summary)) text += sentence + "\n\n";
  text += "| | value | 95% interval | method | tasks |\n|---|---:|---|---|---:|\n";
  auto mean = [&](const char* name, const score::Estimate& estimate) {
    if (estimate.value)
      text += fmt::format("| {} | {} | {} |\n", name, estimate_cells(estimate), estimate.tasks);
  };
  if (!summary.fast_p.points.empty()) mean("right (fast_0)", summary.fast_p.points.front().share);
  mean("speed-up over PyTorch eager, geometric mean", summary.geometric_mean_speedup);
  mean("speed-up over torch.compile, geometric mean", summary.geometric_mean_compile_speedup);
  text += "\n" + curve_part(level, "PyTorch eager", summary.fast_p, summary.no_speed.empty());
  if (summary.fast_p_compile) text += curve_part(level, "torch.compile", *summary.fast_p_compile, true);
  return text;
}

std::string each_source_part(const Index& index, const Overview& overview) {
  std::string text;
  for (const SourceSummary& each : overview.by_source) {
    text += fmt::format("### {}\n\n", markdown_text(index.sources[each.source].name));
    text += headline_part(each.summary, "####") + claims_part(overview.claims, each.source);
  }
  if (std::size_t more = overview.judged_sources - overview.by_source.size(); more > 0)
    text += counted(more, "further source has", "further sources have") + " judged rows.\n\n";
  return text + fmt::format("The figures below are {}.\n\n", pooled_words(overview));
}

std::string overview_part(const Index& index, const Overview& overview) {
  const Summary& summary = overview.summary;
  if (summary.rows == 0) return {};
  std::string text = "## Overview\n\n";
  if (overview.is_pooled())
    text += each_source_part(index, overview);
  else
    text += headline_part(summary, "###") + claims_part(overview.claims, {});
  return text + turns_part(summary) + errors_part(summary) + faults_part(summary) + costs_part(summary);
}

std::string speed_words(const Rows& rows, std::size_t row) {
  auto speed = rows.speedup[row];
  if (!speed) return "–";
  auto low = rows.speedup_low[row];
  auto high = rows.speedup_high[row];
  return low && high ? fmt::format("{:.3f} ({:.3f} to {:.3f})", *speed, *low, *high)
                     : fmt::format("{:.3f}", *speed);
}

// A column of the table of rows that only some reports have.
struct FurtherColumn {
  const char* title;
  const WordColumn& words;
};

std::vector<FurtherColumn> further_columns(const Rows& rows) {
  std::vector<FurtherColumn> found;
  for (const FurtherColumn& each :
       {FurtherColumn{"other shapes", rows.other_shapes}, FurtherColumn{"sanitizers", rows.sanitized}})
    for (std::size_t row = 0; row < rows.count; ++row)
      if (is_sample(rows, row, {}) && !each.words.is_null(row)) {
        found.push_back(each);
        break;
      }
  return found;
}

std::string rows_part(const Index& index, const Summary& summary) {
  const Rows& rows = index.rows;
  if (summary.rows == 0) return {};
  const std::vector<FurtherColumn> further = further_columns(rows);
  std::string text =
      "## Rows\n\n| task | sample | model | status | error or reason | speed-up | trust | turns |";
  for (const FurtherColumn& each : further) text += fmt::format(" {} |", each.title);
  text += "\n|---|---:|---|---|---|---|---|---:|";
  for (std::size_t at = 0; at < further.size(); ++at) text += "---|";
  text += "\n";
  std::size_t shown = 0;
  for (std::size_t row = 0; row < rows.count && shown < most_rows; ++row) {
    if (!is_sample(rows, row, {})) continue;
    ++shown;
    std::string_view why = rows.error_class.is_null(row) ? rows.counts_reason[row] : rows.error_class[row];
    auto turns = rows.turns[row];
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |", markdown_text(task_label(rows, row)),
                        rows.sample_number[row].value_or(0), markdown_text(rows.model[row]),
                        markdown_text(rows.status[row]), markdown_text(why), speed_words(rows, row),
                        markdown_text(rows.trust[row]), turns ? fmt::format("{}", *turns) : "–");
    for (const FurtherColumn& each : further) text += fmt::format(" {} |", markdown_text(each.words[row]));
    text += "\n";
  }
  if (shown < summary.rows)
    text += fmt::format("\n{} in the CSV and JSON forms of this report.\n",
                        counted(summary.rows - shown, "further row is", "further rows are"));
  return text + "\n";
}

std::string best_part(const Index& index, const Summary& summary) {
  if (summary.best_kernel_of_task.empty()) return {};
  const Rows& rows = index.rows;
  std::string text =
      "## Best kernel of each task\n\n| task | sample | source | speed-up |\n|---|---:|---|---|\n";
  std::size_t shown = 0;
  for (const auto& [task, row] : summary.best_kernel_of_task) {
    if (++shown > most_rows) break;
    auto source = static_cast<std::size_t>(rows.source[row].value_or(-1));
    text += fmt::format("| {} | {} | {} | {} |\n", markdown_text(task_label(rows, row)),
                        rows.sample_number[row].value_or(0),
                        source < index.sources.size() ? markdown_text(index.sources[source].name) : "",
                        speed_words(rows, row));
  }
  if (shown > most_rows)
    text += fmt::format("\n{} in the JSON form.\n", counted(summary.best_kernel_of_task.size() - most_rows,
                                                            "further task is", "further tasks are"));
  return text + "\n";
}

std::string source_name(const Index& index, View number) {
  std::size_t source = number.count();
  return source < index.sources.size() ? markdown_text(index.sources[source].name) : "";
}

std::string scalar_words(View value) {
  if (!value.is_there()) return "–";
  if (auto number = value.number()) return fmt::format("{}", *number);
  std::string text = value.text();
  return text.empty() ? (value.is_true() ? "true" : "false") : markdown_text(text);
}

std::string flips_part(View comparison) {
  std::string text = "| task | right before | right after |\n|---|---:|---:|\n";
  std::size_t shown = 0;
  for (View flip : comparison["flipped"].list()) {
    if (++shown > most_rows) break;
    text += fmt::format("| {} | {} | {} |\n", markdown_text(flip["task_id"].text()),
                        number_or_dash(flip["right_before"].number(), 2),
                        number_or_dash(flip["right_after"].number(), 2));
  }
  std::size_t all = comparison["flipped_count"].count();
  if (shown == 0) return "No task flipped.\n\n";
  std::string rest =
      all > most_rows ? fmt::format("\n{} flipped.\n", counted(all - most_rows, "further task")) : "";
  return text + rest + "\n";
}

std::string p_words(const std::optional<double>& p) {
  return p && *p < 0.001 ? "< 0.001" : scoring::number_words(p);
}

std::string comparison_part(const Index& index, View comparison) {
  std::string text = fmt::format("## {} against {}\n\n", source_name(index, comparison["after"]),
                                 source_name(index, comparison["before"]));
  text +=
      "Only tasks that both sources have judged are compared.\n\n| measure | tasks | before | after | "
      "difference | "
      "95% interval | wins | losses | p | test |\n|---|---:|---:|---:|---:|---|---:|---:|---:|---|\n";
  for (View measure : comparison["measures"].list())
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", measure["name"].text(),
                    measure["tasks"].count(), scoring::number_words(measure["before"].number()),
                    scoring::number_words(measure["after"].number()),
                    scoring::number_words(measure["difference"]["value"].number()),
                    scoring::interval_words(measure["difference"]), measure["gained"].count(),
                    measure["lost"].count(), p_words(measure["p_value"].number()), measure["method"].text());
  text += "\n";
  for (View measure : comparison["measures"].list())
    text += fmt::format("- {}: {} ({} only before, {} only after)\n", measure["name"].text(),
                        markdown_text(measure["words"].text()),
                        counted(measure["only_before"].count(), "task"), measure["only_after"].count());
  text += "\n### Settings that differ\n\n";
  auto settings = comparison["settings"].list();
  text += settings.empty() ? "None of the recorded settings differ.\n"
                           : "| setting | before | after |\n|---|---|---|\n";
  for (View setting : settings)
    text += fmt::format("| {} | {} | {} |\n", markdown_text(setting["name"].text()),
                        scalar_words(setting["before"]), scalar_words(setting["after"]));
  return text + "\n### Tasks that flipped\n\n" + flips_part(comparison);
}

std::string scores_part(const Index& index) {
  std::string text;
  for (const json::value& score : index.scores) {
    if (!score.is_object()) continue;
    text += fmt::format("{}:\n\n", source_name(index, View(score)["source"]));
    text += "| measure | value | 95% interval | of |\n|---|---:|---|---|\n";
    for (const scoring::HeadlineRow& row : scoring::headline(score.get_object()))
      text +=
          fmt::format("| {} | {} | {} | {} |\n", markdown_text(row.measure), row.value, row.interval, row.of);
    for (const std::string& warning : scoring::warnings(score.get_object()))
      text += fmt::format("\n- {}\n", markdown_text(warning));
    text += "\n";
  }
  return text.empty() ? text : "## Scores\n\n" + text;
}

std::string datasets_part(const Index& index) {
  std::string text;
  for (const json::value& dataset : index.datasets) {
    if (!dataset.is_object() || !dataset.get_object().contains("rows")) continue;  // without ANALYSIS.json
    View facts(dataset);
    text += fmt::format("| {} | {} | {} | {} |\n", source_name(index, facts["source"]),
                        facts["rows"]["count"].count(), facts["duplicates"]["near_units"].count(),
                        markdown_text(facts["tokenizer"]["name"].text()));
  }
  if (text.empty()) return text;
  return "## Data sets\n\n| source | rows | near duplicates left out | tokenizer |\n|---|---:|---:|---|\n" +
         text + "\n";
}

}  // namespace

std::string task_label(const Rows& rows, std::size_t row) {
  bool is_hash = rows.task_id[row].starts_with("sha256:");
  return is_hash && !rows.name.is_null(row) ? std::string(rows.name[row]) : task_of(rows, row);
}

std::string right_words(const Summary& summary) {
  std::size_t judged = summary.right + summary.wrong;
  std::string text = fmt::format("{} of {}", summary.right, counted(judged, "sample"));
  if (std::size_t open = summary.unfinished; open > 0)
    text += fmt::format(" of the {} that have ended; {} unfinished", summary.rows - open,
                        counted(open, "sample is", "samples are"));
  if (summary.unknown > 0) text += fmt::format(", {} not judged", summary.unknown);
  return text;
}

std::vector<std::string> not_measured(const Summary& summary) {
  std::vector<std::string> sentences;
  const score::Estimate& mean = summary.geometric_mean_speedup;
  if (summary.right + summary.wrong == 0)
    sentences.emplace_back("No sample was judged.");
  else if (!mean.value)
    sentences.push_back(fmt::format("Speed was not measured: {}.", summary.no_speed));
  else if (!summary.fast_p_compile)
    sentences.emplace_back("Speed against torch.compile was not measured.");
  return sentences;
}

std::string markdown(const Index& index, const Overview& overview) {
  std::string text = head_of(index) + overview_part(index, overview);
  for (const json::value& comparison : overview.comparisons) text += comparison_part(index, View(comparison));
  text += scores_part(index) + datasets_part(index) + best_part(index, overview.summary);
  return text + rows_part(index, overview.summary);
}

std::string json_text(const Index& index, const Overview& overview) {
  json::object object = to_json(index);
  object["summary"] = to_json(overview);
  object["chunks"] = json::array();
  return json::serialize(object) + "\n";
}

}  // namespace kw::report
