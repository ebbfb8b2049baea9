#include "scoring/headline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

std::string tasks_words(std::size_t tasks, const char* what = "task") {
  return fmt::format("{} {}{}", tasks, what, tasks == 1 ? "" : "s");
}

HeadlineRow row_of(std::string measure, View estimate, const char* what = "task") {
  return {std::move(measure), number_words(estimate["value"].number()), interval_words(estimate),
          tasks_words(estimate["tasks"].count(), what)};
}

void add_verdicts(View verdicts, std::vector<HeadlineRow>& rows) {
  for (View point : verdicts["pass_at_k"].list())
    rows.push_back(row_of(fmt::format("pass@{}", point["k"].count()), point));
  for (View point : verdicts["fast_p"].list()) {
    double p = point["p"].number().value_or(-1);
    if (p != 1 && p != 2) continue;
    HeadlineRow row = row_of(fmt::format("fast_{}", p), point["share"]);
    if (!point["share"]["value"].number()) {
      row.value = "not measured";
      row.interval = fmt::format("between {} and {}", number_words(point["at_least"]["value"].number()),
                                 number_words(point["at_most"]["value"].number()));
      row.of = fmt::format("{} right of unknown speed", point["unknown_speeds"].count());
    }
    rows.push_back(row);
  }
  if (View speed = verdicts["geometric_mean_speedup"]; speed["value"].number())
    rows.push_back(row_of("speed-up, geometric mean of right answers", speed));
}

void add_texts(View result, std::vector<HeadlineRow>& rows) {
  for (View property : result["static"]["properties"].list())
    if (property["name"].text() == "good") rows.push_back(row_of("static checks passed", property, "item"));
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
  add_verdicts(result["verdicts"], rows);
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
        fmt::format("TRAINED ON: {} of {} outputs belong to tasks or rows that stand in the training "
                    "manifest (--allow-trained). These figures say nothing about unseen tasks.",
                    count, result["outputs"].list().size()));
  else if (!training["checked"].is_true())
    all.emplace_back(
        "Not held against a training manifest (--adapter, --manifest): nobody checked whether these tasks "
        "were "
        "trained on.");
  if (std::size_t count = result["paired"]["baseline_trained_on"].count(); count > 0)
    all.push_back(fmt::format("TRAINED ON: {} outputs of the baseline are marked as trained on.", count));
  View verdicts = result["verdicts"];
  if (std::size_t count = verdicts["recorded"].count(); count > 0)
    all.push_back(fmt::format("RECORDED: {} of {} verdicts stood in the input and were not judged here.",
                              count, count + verdicts["judged_here"].count()));
  if (std::size_t count = verdicts["counts_unknown"].count(); count > 0)
    all.push_back(fmt::format(
        "{} right answers are right by another evaluator's word alone, which does not say whether the kernel "
        "does the work.",
        count));
  return all;
}

std::string training_mark(const json::object& object) {
  return trained_on(View(object)) > 0 ? "(includes tasks that were trained on)" : "";
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
  if (std::string mark = training_mark(result); !mark.empty()) text += mark + "\n";
  return text;
}

}  // namespace kw::scoring
