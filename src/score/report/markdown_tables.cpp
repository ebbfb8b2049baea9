#include <fmt/format.h>

#include <functional>

#include "base/core/counted.h"
#include "score/report/report.h"
#include "types/card.h"
#include "verify/explain/words.h"

namespace kw::scoring {
namespace {

std::string estimate_cells(View estimate) {
  std::string why = estimate["why"].text();
  return fmt::format(
      "{} | {} | {} | {}", number_words(estimate["value"].number()), interval_words(estimate),
      estimate["tasks"].count(),
      table_cell(why.empty() ? estimate["method"].text() : estimate["method"].text() + "; " + why));
}

std::string pass_rows(View result) {
  std::string text =
      "| pass@k | value | 95% interval | tasks | method | tasks with fewer samples |\n"
      "|---|---:|---|---:|---|---:|\n";
  for (View point : result["verdicts"]["pass_at_k"].list())
    text += fmt::format("| {} | {} | {} |\n", pass_words(result, point), estimate_cells(point),
                        point["tasks_with_too_few"].count());
  return text + "\n";
}

std::string curve_rows(View verdicts) {
  std::string text =
      "fast_p is the share of tasks whose answer is right and more than p times as fast as PyTorch. Where "
      "the speed of a right answer was not measured, only bounds are given.\n\n| p | share | 95% interval | "
      "at least | at most | faster | right, speed unknown |\n|---:|---:|---|---:|---:|---:|---:|\n";
  for (View point : verdicts["fast_p"].list())
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", point["p"].number().value_or(0),
                        number_words(point["share"]["value"].number()), interval_words(point["share"]),
                        number_words(point["at_least"]["value"].number()),
                        number_words(point["at_most"]["value"].number()), point["faster"].count(),
                        point["unknown_speeds"].count());
  return text + "\n";
}

// As count_rows, with an explanation of each name.
std::string explained_rows(std::string_view title, View counts,
                           const std::function<std::string_view(std::string_view)>& sentence) {
  auto members = counts.members();
  if (members.empty()) return {};
  std::string text = fmt::format("{}:\n\n| | meaning | answers |\n|---|---|---:|\n", title);
  for (const auto& [name, value] : members)
    text += fmt::format("| {} | {} | {} |\n", table_cell(name), table_cell(sentence(name)), value.count());
  return text + "\n";
}

}  // namespace

std::string verdict_tables(View result, const std::string& mark) {
  View verdicts = result["verdicts"];
  if (!verdicts.is_there()) return {};
  std::string text = heading("Verdicts", mark);
  text += fmt::format("Right and counting: {} of {}.\n\n", verdicts["right"].count(),
                      counted(verdicts["samples"].count(), "judged answer"));
  text += pass_rows(result) + curve_rows(verdicts);
  View speed = verdicts["geometric_mean_speedup"];
  if (speed["value"].number())
    text += fmt::format(
        "Geometric mean speed-up of right answers with a measured speed ({}): {} ({}), over {}.\n\n",
        counted(verdicts["speeds_measured"].count(), "answer"), number_words(speed["value"].number()),
        interval_words(speed), counted(speed["tasks"].count(), "task"));
  else
    text += "Speed is not measured.\n\n";
  text += count_rows("Reasons why the speed of right answers was not measured", verdicts["why_no_speed"]);
  text += explained_rows("Right results that are no evidence and therefore count as wrong",
                         verdicts["proves_nothing"], explain::sentence_of<CountsReason>);
  text +=
      explained_rows("Errors of wrong answers", verdicts["error_classes"], explain::sentence_of<ErrorClass>);
  text += count_rows("Excluded from all shares because they could not be judged", verdicts["left_out"]);
  text += count_rows("All verdicts", verdicts["status"]);
  text += count_rows("Trust in the verdicts", verdicts["trust"]);
  text += count_rows("Judged shapes: as given, or reduced for the CPU", verdicts["shapes"]);
  return text;
}

namespace {

// The answers by check and state, and the reasons of those that fail or are unproven.
std::string check_rows(View result) {
  constexpr std::size_t most_reasons = 100;
  View checks = result["static"]["checks"];
  if (!checks.is_there()) return {};
  std::string text =
      "fail: the source shows a fault. unproven: it shows none, and does not prove that there is none.\n\n"
      "| check | pass | unproven | fail |\n|---|---:|---:|---:|\n";
  for (const auto& [name, states] : checks.members())
    text += fmt::format("| {} | {} | {} | {} |\n", table_cell(name), states["pass"].count(),
                        states["unproven"].count(), states["fail"].count());
  std::string rows;
  std::size_t count = 0;
  for (const char* state : {"fail", "unproven"})
    for (const CheckReason& reason : check_reasons(result, state))
      if (count++ < most_reasons)
        rows += fmt::format("| {} | {} | {} | {} | {} |\n", table_cell(reason.target), state,
                            table_cell(reason.check), reason.line == 0 ? "" : std::to_string(reason.line),
                            table_cell(reason.what));
  if (count == 0) return text + "\n";
  text +=
      "\nThe first reason of each answer that does not pass:\n\n| answer | state | check | line | reason "
      "|\n|---|---|---|---:|---|\n" +
      rows;
  if (count > most_reasons) text += fmt::format("\n… and {} more in the JSON.\n", count - most_reasons);
  return text + "\n";
}

}  // namespace

std::string text_tables(View result, const std::string& mark) {
  std::string text;
  if (View checks = result["static"]; checks.is_there()) {
    text += heading("Static checks", mark);
    text += fmt::format(
        "Derived from the syntax trees of {}, without running them. A share is the mean over tasks "
        "or rows.\n\n| property | answers | share | 95% interval | items | method "
        "|\n|---|---:|---:|---|---:|---|\n",
        counted(checks["outputs"].count(), "answer"));
    for (View property : checks["properties"].list())
      text += fmt::format("| {} | {} | {} |\n", property["name"].text(), property["outputs"].count(),
                          estimate_cells(property));
    text += "\n" + check_rows(result) +
            count_rows("Disguises: kernels that do not do the work", checks["disguises"]);
  }
  if (View overlap = result["overlap"]; overlap.is_there()) {
    text += heading("Similarity to references", mark);
    text += fmt::format(
        "Over {}. Similarity does not imply correctness. The tokeniser is this program's own, so "
        "figures of other tools are not comparable.\n\n| measure | value | 95% interval |\n|---|---:|---|\n| "
        "BLEU of the set | {} | |\n| mean BLEU over items | {} | |\n",
        counted(overlap["pairs"].count(), "pair"), number_words(overlap["corpus_bleu"].number()),
        number_words(overlap["mean_bleu"].number()));
    constexpr std::pair<const char*, const char*> names[] = {
        {"exact", "equal, byte by byte"},
        {"exact_tokens", "equal but for comments and layout"},
        {"exact_renamed", "equal but for the author's names too"}};
    for (const auto& [key, words] : names)
      text += fmt::format("| {} | {} | {} |\n", words, number_words(overlap[key]["value"].number()),
                          interval_words(overlap[key]));
    text += "\n";
  }
  if (View compile = result["compile"]; compile.is_there()) {
    text += heading("Compilation sample", mark);
    View share = compile["compilable"];
    text += fmt::format(
        "Answers drawn at random: {}. The share that compiles among those with known argument types is "
        "{} ({}).\n\n",
        compile["asked"].count(), number_words(share["value"].number()), interval_words(share));
    text += count_rows("Labels", compile["labels"]);
    text += count_rows("Reasons for failed compilations", compile["why_it_fails"]);
  }
  return text;
}

std::string paired_tables(View result, const std::string& mark) {
  View paired = result["paired"];
  if (!paired.is_there()) return {};
  std::string text = heading("Before and after", mark);
  text += fmt::format(
      "Baseline: {}. Only tasks and rows that occur in both results are compared.\n\n| measure | tasks | "
      "before | after | difference | 95% interval | better | worse | p | test "
      "|\n|---|---:|---:|---:|---:|---|---:|---:|---:|---|\n",
      table_cell(paired["baseline"].text()));
  for (View measure : paired["measures"].list())
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", measure["name"].text(),
        measure["tasks"].count(), number_words(measure["before"].number()),
        number_words(measure["after"].number()), number_words(measure["difference"]["value"].number()),
        interval_words(measure["difference"]), measure["gained"].count(), measure["lost"].count(),
        number_words(measure["p_value"].number()), table_cell(measure["method"].text()));
  text += "\n";
  for (View measure : paired["measures"].list())
    text += fmt::format("- {}: {} ({} only before, {} only after)\n", measure["name"].text(),
                        table_cell(measure["words"].text()), measure["only_before"].count(),
                        measure["only_after"].count());
  return text + "\n";
}

std::string review_tables(View result, const std::string& mark) {
  View review = result["review"];
  if (!review.is_there()) return {};
  std::string text = heading("Human review", mark);
  text +=
      fmt::format("Answers of the sheet: {}. Labels read: {}. Answers without a label: {}.\n\n",
                  review["drawn"].count(), review["reviews"].list().size(), review["without_label"].count());
  for (View problem : review["problems"].list()) text += fmt::format("- {}\n", table_cell(problem.text()));
  for (View reader : review["reviewers"].list()) {
    text += fmt::format("\n{} ({}):\n\n", table_cell(reader["reviewer"].text()),
                        counted(reader["labels_given"].count(), "label"));
    text +=
        "| automatic check | pairs | agree | both good | only automatic | only person | both bad | kappa |\n"
        "|---|---:|---:|---:|---:|---:|---:|---|\n";
    for (View one : reader["agreement"].list())
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", one["with"].text(),
                          one["pairs"].count(), number_words(one["raw"]["value"].number()),
                          one["both_good"].count(), one["only_automatic"].count(), one["only_person"].count(),
                          one["both_bad"].count(), table_cell(one["kappa_words"].text()));
    text += "\n" + count_rows("Labels", reader["labels"]);
  }
  for (View pair : review["between_reviewers"].list()) {
    std::vector<View> names = pair["reviewers"].list();
    if (names.size() != 2) continue;
    text += fmt::format("\n{} and {}: {} judged by both, {} judged alike; {}\n", table_cell(names[0].text()),
                        table_cell(names[1].text()), counted(pair["pairs"].count(), "answer"),
                        number_words(pair["raw"]["value"].number()), table_cell(pair["kappa_words"].text()));
  }
  return text + "\n";
}

}  // namespace kw::scoring
