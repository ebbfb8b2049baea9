#include "score/report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/counted.h"
#include "base/core/text.h"
#include "types/card.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

std::string tasks_words(std::size_t tasks, const char* what = "task") {
  return counted(tasks, what);
}

HeadlineRow row_of(std::string measure, View estimate, const char* what = "task") {
  return {std::move(measure), number_words(estimate["value"].number()), interval_words(estimate),
          tasks_words(estimate["tasks"].count(), what)};
}

void add_verdicts(View result, std::vector<HeadlineRow>& rows) {
  View verdicts = result["verdicts"];
  for (View point : verdicts["pass_at_k"].list()) rows.push_back(row_of(pass_words(result, point), point));
  for (View point : verdicts["fast_p"].list()) {
    double p = point["p"].number().value_or(-1);
    if (p != 1 && p != 2) continue;
    HeadlineRow row = row_of(fmt::format("fast_{}", p), point["share"]);
    if (!point["share"]["value"].number()) {
      row.value = "not measured";
      row.interval = fmt::format("between {} and {}", number_words(point["at_least"]["value"].number()),
                                 number_words(point["at_most"]["value"].number()));
      row.of = fmt::format("{} right, speed not measured", point["unknown_speeds"].count());
    }
    rows.push_back(row);
  }
  if (View speed = verdicts["geometric_mean_speedup"]; speed["value"].number())
    rows.push_back(row_of("speed-up, geometric mean of right answers", speed));
}

void add_texts(View result, std::vector<HeadlineRow>& rows) {
  // A result of an earlier version has no states.
  const bool has_states = result["static"]["checks"].is_there();
  for (View property : result["static"]["properties"].list()) {
    std::string name = property["name"].text();
    if (!has_states && name == "good") rows.push_back(row_of("static checks passed", property, "item"));
    if (has_states && (name == "pass" || name == "unproven" || name == "fail"))
      rows.push_back(row_of("static checks: " + name, property, "item"));
  }
  View overlap = result["overlap"];
  if (overlap.is_there()) {
    std::string pairs = tasks_words(overlap["pairs"].count(), "pair");
    rows.push_back({"BLEU to references", number_words(overlap["corpus_bleu"].number()), "", pairs});
    rows.push_back(row_of("equal to references", overlap["exact_tokens"], "item"));
  }
  if (View compile = result["compile"]; compile.is_there()) {
    HeadlineRow row = row_of("kernels compile", compile["compilable"]);
    row.of = fmt::format("{} tried, {} with known types", compile["asked"].count(),
                         compile["labels"]["compilable"].count() + compile["labels"]["fails"].count());
    rows.push_back(row);
  }
}

void add_paired(View paired, std::vector<HeadlineRow>& rows) {
  for (View measure : paired["measures"].list()) {
    std::string p =
        measure["p_value"].number() ? fmt::format("p = {:.3g}", *measure["p_value"].number()) : "";
    rows.push_back({fmt::format("{}: after - before", measure["name"].text()),
                    number_words(measure["difference"]["value"].number()),
                    interval_words(measure["difference"]),
                    fmt::format("{}, {}{}", tasks_words(measure["tasks"].count()), p,
                                measure["significant"].is_true() ? "" : ", not significant")});
  }
}

std::size_t trained_on(View result) {
  std::size_t count = 0;
  for (View output : result["outputs"].list()) count += output["trained_on"].is_true();
  return count;
}

}  // namespace

std::string pass_words(View result, View point) {
  std::string words = fmt::format("pass@{}", point["k"].count());
  View scored = result["scored"];
  if (scored["turns"].text() == "best" && scored["most_turns"].count() > 1)
    words += fmt::format(", best of up to {} turns", scored["most_turns"].count());
  return words;
}

std::string number_words(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "not known";
}

std::string interval_words(View estimate) {
  auto low = estimate["low"].number();
  auto high = estimate["high"].number();
  return low && high ? fmt::format("{:.3f} to {:.3f}", *low, *high) : "";
}

std::vector<HeadlineRow> headline(const json::object& object) {
  View result(object);
  std::vector<HeadlineRow> rows;
  add_verdicts(result, rows);
  add_texts(result, rows);
  add_paired(result["paired"], rows);
  return rows;
}

std::vector<std::string> warnings(const json::object& object) {
  View result(object);
  std::vector<std::string> all;
  View training = result["training"];
  if (std::size_t count = trained_on(result); count > 0)
    all.push_back(
        fmt::format("TRAINED ON: {} of {} belong to tasks or rows of the training manifest "
                    "(--allow-trained). These figures do not apply to unseen tasks.",
                    count, counted(result["outputs"].list().size(), "output")));
  else if (!training["checked"].is_true())
    all.emplace_back(
        "No training manifest was given (--adapter, --manifest), so it is unknown whether the model was "
        "trained on these tasks.");
  if (std::size_t count = result["paired"]["baseline_trained_on"].count(); count > 0)
    all.push_back(fmt::format("TRAINED ON: {} marked as trained on.",
                              counted(count, "output of the baseline is", "outputs of the baseline are")));
  View verdicts = result["verdicts"];
  if (std::size_t count = verdicts["recorded"].count(); count > 0)
    all.push_back(fmt::format("RECORDED: {} of {} were read from the input and not judged by this run.",
                              count, counted(count + verdicts["judged_here"].count(), "verdict")));
  if (std::size_t count = verdicts["counts_unknown"].count(); count > 0)
    all.push_back(fmt::format(
        "{} on another evaluator's verdict, which does not state whether the kernel does the work.",
        counted(count, "right answer rests", "right answers rest")));
  return all;
}

namespace {

// "task: fail: launched, line 12: …" of the first answers whose static checks fail or are unproven.
std::string first_reasons(View result) {
  constexpr std::size_t most_shown = 5;
  std::string text;
  std::size_t shown = 0;
  std::size_t others = 0;
  for (const char* state : {"fail", "unproven"})
    for (const CheckReason& reason : check_reasons(result, state)) {
      if (shown++ < most_shown)
        text += fmt::format("{:<8}  {}: {}{}: {}\n", state, to_plain_text(reason.target), reason.check,
                            reason.line == 0 ? "" : fmt::format(", line {}", reason.line), reason.what);
      else
        ++others;
    }
  if (others > 0) text += fmt::format("… and {} more in the report\n", others);
  return text;
}

}  // namespace

std::vector<CheckReason> check_reasons(View result, std::string_view state) {
  std::vector<CheckReason> reasons;
  for (View output : result["outputs"].list()) {
    View facts = output["static"];
    if (!output["scored"].is_true() || facts["state"].text() != state) continue;
    for (View reason : facts["reasons"].list())
      if (facts["checks"][reason["check"].text()].text() == state) {
        reasons.push_back(
            {output["target"].text(), reason["check"].text(), reason["what"].text(), reason["line"].count()});
        break;
      }
  }
  return reasons;
}

std::string training_mark(const json::object& object) {
  return trained_on(View(object)) > 0 ? "(includes training tasks)" : "";
}

std::string short_table(const json::object& result) {
  std::string text;
  for (const std::string& warning : warnings(result)) text += fmt::format("! {}\n", warning);
  std::vector<HeadlineRow> rows = headline(result);
  std::size_t widths[3] = {0, 0, 0};
  for (const HeadlineRow& row : rows) {
    widths[0] = std::max(widths[0], row.measure.size());
    widths[1] = std::max(widths[1], row.value.size());
    widths[2] = std::max(widths[2], row.interval.size());
  }
  for (const HeadlineRow& row : rows)
    text += fmt::format("{:<{}}  {:>{}}  {:<{}}  {}\n", row.measure, widths[0], row.value, widths[1],
                        row.interval, widths[2], row.of);
  text += first_reasons(View(result));
  if (std::string mark = training_mark(result); !mark.empty()) text += mark + "\n";
  return text;
}

namespace {

constexpr std::size_t most_listed = 50;

std::string plain(View value) {
  if (auto number = value.number()) return fmt::format("{}", *number);
  if (!value.is_there()) return "not known";
  if (value.is_true()) return "yes";
  std::string text = value.text();
  for (View each : value.list())
    text += (text.empty() ? "" : each.members().empty() ? ", " : "; ") + plain(each);
  if (auto members = value.members(); !members.empty())
    for (const auto& [name, each] : members)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, plain(each));
  return !text.empty() ? text : value.is_list() ? "none" : "no";
}

// A table of all members of an object.
std::string facts_table(View facts) {
  std::string text = "| | |\n|---|---|\n";
  for (const auto& [name, value] : facts.members())
    text += fmt::format("| {} | {} |\n", table_cell(name), table_cell(plain(value)));
  return text + "\n";
}

std::string short_rows(const boost::json::object& result, const std::string& mark) {
  std::string text = heading("In short", mark);
  text += "| measure | value | 95% interval | of |\n|---|---:|---|---|\n";
  for (const HeadlineRow& row : headline(result))
    text += fmt::format("| {} | {} | {} | {} |\n", row.measure, row.value, row.interval, table_cell(row.of));
  return text + "\n";
}

std::string counts(View result, const std::string& mark) {
  View all = result["counts"];
  View verdicts = result["verdicts"];
  std::string text = heading("Scored answers", mark);
  text += facts_table(result["scored"]);
  text += fmt::format(
      "Answers read: {}. Scored: {}, for {}. Answers without code: {}. Rows that could not be read: {}.\n\n",
      all["outputs"].count(), all["scored"].count(),
      counted(all["items"].count(), "task or row", "tasks or rows"), all["without_code"].count(),
      all["unreadable_rows"].count());
  std::size_t listed = 0;
  for (View row : all["unreadable"].list())
    if (listed++ < most_listed) text += fmt::format("- {}\n", table_cell(row.text()));
  if (listed > 0) text += "\n";
  if (verdicts.is_there())
    text += fmt::format(
        "Answers with a verdict, right or wrong: {}. Tasks without a judged sample, which no share includes: "
        "{}.\n\n",
        verdicts["samples"].count(), verdicts["tasks_left_out"].count());
  return text;
}

std::string training(View result) {
  View check = result["training"];
  std::string text = "## Training manifest\n\n";
  if (!check["checked"].is_true())
    return text + "No training manifest was given, so no task was checked against one.\n\n";
  for (View manifest : check["manifests"].list())
    text += fmt::format(
        "- {}: {}, base model {}. Rows without a task name, which are matched by their text alone: {}.\n",
        table_cell(manifest["path"].text()), counted(manifest["rows"].count(), "row"),
        table_cell(manifest["base_model"].text()), manifest["rows_without_task"].count());
  if (auto unknown = check["not_comparable"].count(); unknown > 0)
    text += fmt::format(
        "- Tasks or rows with neither a name nor a text, which could not be compared with the manifest: "
        "{}.\n",
        unknown);
  auto seen = check["seen"].list();
  text += fmt::format("\nTasks and rows in the manifest: {} of {}.\n\n", seen.size(), check["items"].count());
  if (seen.empty()) return text;
  text += "| task or row | matched by | value |\n|---|---|---|\n";
  for (std::size_t i = 0; i < seen.size() && i < most_listed; ++i)
    text += fmt::format("| {} | {} | {} |\n", table_cell(seen[i]["item"].text()), seen[i]["by"].text(),
                        table_cell(seen[i]["what"].text()));
  if (seen.size() > most_listed) text += fmt::format("\n… and {} more.\n", seen.size() - most_listed);
  return text + "\n";
}

std::string how(View result) {
  std::string text = "## Method\n\n";
  text += fmt::format("{}, revision {}, {}.\n\n", result["program"].text(), result["revision"].text(),
                      result["created"].text());
  text += "Protocol:\n\n" + facts_table(result["protocol"]);
  text += "Machine:\n\n" + facts_table(result["machine"]);
  text += fmt::format(
      "Bootstrap intervals resample whole tasks {} times with seed {}; the method of each interval is in the "
      "JSON.\n\n",
      result["bootstrap"]["resamples"].count(), result["bootstrap"]["seed"].count());
  text += fmt::format("To repeat this score, run in {}:\n\n```\n", result["folder"].text());
  std::string line;
  for (View word : result["command"].list()) line += (line.empty() ? "" : " ") + word.text();
  // A fence in the command line must not end the report's fence.
  for (std::size_t at = line.find("```"); at != std::string::npos; at = line.find("```"))
    line.replace(at, 3, "'''");
  return text + line + "\n```\n";
}

}  // namespace

std::string heading(std::string_view title, const std::string& mark) {
  return fmt::format("## {}{}{}\n\n", title, mark.empty() ? "" : " ", mark);
}

std::string count_rows(std::string_view title, View all) {
  auto members = all.members();
  if (members.empty()) return {};
  std::string text = fmt::format("{}:\n\n| | answers |\n|---|---:|\n", title);
  for (const auto& [name, value] : members)
    text += fmt::format("| {} | {} |\n", table_cell(name), value.count());
  return text + "\n";
}

std::string markdown(const boost::json::object& object) {
  View result(object);
  std::string mark = training_mark(object);
  std::string text = "# Score\n\n";
  for (const std::string& warning : warnings(object))
    text += fmt::format("> **{}**\n>\n", table_cell(warning));
  if (text.ends_with(">\n")) text.resize(text.size() - 2), text += "\n";
  text += short_rows(object, mark);
  text += counts(result, mark);
  text += verdict_tables(result, mark);
  text += text_tables(result, mark);
  text += paired_tables(result, mark);
  text += review_tables(result, mark);
  text += training(result);
  text += how(result);
  return text;
}

}  // namespace kw::scoring
