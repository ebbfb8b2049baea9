#include "scoring/markdown.h"

#include <fmt/format.h>

#include "schema/card.h"
#include "scoring/headline.h"

namespace kw::scoring {
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

// A table of everything that an object holds.
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
  std::string text = heading("What was scored", mark);
  text += facts_table(result["scored"]);
  text += fmt::format(
      "{} answers were read, {} are scored, of {} tasks or rows. {} have no code in them. {} rows could not "
      "be "
      "read.\n\n",
      all["outputs"].count(), all["scored"].count(), all["items"].count(), all["without_code"].count(),
      all["unreadable_rows"].count());
  std::size_t listed = 0;
  for (View row : all["unreadable"].list())
    if (listed++ < most_listed) text += fmt::format("- {}\n", table_cell(row.text()));
  if (listed > 0) text += "\n";
  if (verdicts.is_there())
    text += fmt::format(
        "{} of them have a verdict: right or wrong. {} tasks have no sample that could be judged and are in "
        "no "
        "share.\n\n",
        verdicts["samples"].count(), verdicts["tasks_left_out"].count());
  return text;
}

std::string training(View result) {
  View check = result["training"];
  std::string text = "## Training manifest\n\n";
  if (!check["checked"].is_true()) return text + "None was given, so nothing was checked.\n\n";
  for (View manifest : check["manifests"].list())
    text += fmt::format(
        "- {}: {} rows, base model {}. {} of its rows name no task, and are recognised by their text "
        "alone.\n",
        table_cell(manifest["path"].text()), manifest["rows"].count(),
        table_cell(manifest["base_model"].text()), manifest["rows_without_task"].count());
  if (auto unknown = check["not_comparable"].count(); unknown > 0)
    text += fmt::format("- {} tasks or rows have neither a name nor a text to compare, so nobody knows.\n",
                        unknown);
  auto seen = check["seen"].list();
  text += fmt::format("\n{} of {} tasks and rows stand in it.\n\n", seen.size(), check["items"].count());
  if (seen.empty()) return text;
  text += "| what | recognised by | value |\n|---|---|---|\n";
  for (std::size_t i = 0; i < seen.size() && i < most_listed; ++i)
    text += fmt::format("| {} | {} | {} |\n", table_cell(seen[i]["item"].text()), seen[i]["by"].text(),
                        table_cell(seen[i]["what"].text()));
  if (seen.size() > most_listed) text += fmt::format("\n… and {} more.\n", seen.size() - most_listed);
  return text + "\n";
}

std::string how(View result) {
  std::string text = "## How it was done\n\n";
  text += fmt::format("{}, revision {}, {}.\n\n", result["program"].text(), result["revision"].text(),
                      result["created"].text());
  text += "Protocol:\n\n" + facts_table(result["protocol"]);
  text += "Machine:\n\n" + facts_table(result["machine"]);
  text += fmt::format(
      "Intervals by bootstrap draw whole tasks {} times from seed {}; the method of each stands in the "
      "JSON.\n\n",
      result["bootstrap"]["resamples"].count(), result["bootstrap"]["seed"].count());
  text += fmt::format("To repeat it, in {}:\n\n```\n", result["folder"].text());
  std::string line;
  for (View word : result["command"].list()) line += (line.empty() ? "" : " ") + word.text();
  // A fence in the command line must not end ours.
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
