#include "verify/explain/github.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/core/display.h"
#include "base/core/text.h"
#include "types/card.h"

namespace kw::explain {
namespace {

constexpr std::size_t most_summary_rows = 200;
constexpr std::size_t most_explained = 20;
constexpr std::size_t longest_summary = 500'000;  // in bytes
constexpr std::size_t longest_path = 400;

std::string escaped_data(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '%')
      escaped += "%25";
    else if (c == '\r')
      escaped += "%0D";
    else if (c == '\n')
      escaped += "%0A";
    else
      escaped += c;
  }
  return escaped;
}

std::string escaped_property(std::string_view text) {
  std::string escaped;
  for (char c : escaped_data(text)) {
    if (c == ':')
      escaped += "%3A";
    else if (c == ',')
      escaped += "%2C";
    else
      escaped += c;
  }
  return escaped;
}

std::string_view command_of(Level level) {
  if (level == Level::error) return "error";
  return level == Level::warning ? "warning" : "notice";
}

std::string annotation(Level level, const std::optional<Place>& place, std::string_view title,
                       std::string_view text) {
  std::string properties;
  auto add = [&](std::string_view name, const std::string& value) {
    properties += fmt::format("{}{}={}", properties.empty() ? "" : ",", name, escaped_property(value));
  };
  // A name that is no UTF-8 or has control characters names no file on GitHub's page.
  if (place && visible_line(place->path) == place->path) {
    add("file", place->path);
    if (place->line > 0) add("line", fmt::format("{}", place->line));
    if (place->column > 0) add("col", fmt::format("{}", place->column));
    if (place->column > 0) add("endColumn", fmt::format("{}", place->end_column));
  }
  add("title", std::string(title));
  return fmt::format("::{} {}::{}\n", command_of(level), properties, escaped_data(without_commands(text)));
}

std::string text_of(const Finding& it) {
  std::string text = fmt::format("{}: {}", it.id, it.sentence);
  if (!it.details.empty()) text += "\n" + it.details;
  if (!it.advice.empty()) text += "\nhelp: " + it.advice;
  return text;
}

std::string place_words(const Finding& it) {
  if (!it.place) return {};
  std::string words = shorten(visible_line(it.place->path), longest_path);
  return it.place->line == 0 ? words : fmt::format("{}:{}", words, it.place->line);
}

std::string heading_of(const Findings& findings) {
  const std::size_t total = findings.total();
  std::string text = fmt::format("## Kernelwright: {} of {} kernel{} right\n\n", findings.right(), total,
                                 total == 1 ? "" : "s");
  for (auto [level, words] : {std::pair{Level::error, "incorrect or failed"},
                              std::pair{Level::warning, "right but not counting, or without a verdict"},
                              std::pair{Level::note, "not judged to the end"}})
    if (findings.count(level) > 0) text += fmt::format("- {} {}\n", findings.count(level), words);
  if (findings.bad_row_count() > 0) text += fmt::format("- {} could not be read\n", findings.bad_row_count());
  return text;
}

std::string row_of(const Finding& it) {
  return fmt::format("| {} | {} | {} | {} |\n", markdown_text(it.id), markdown_text(place_words(it)),
                     markdown_text(it.in_short), markdown_text(it.sentence));
}

// One line of Markdown: no text of a candidate can begin a block or end one.
std::string explained(const Finding& it) {
  std::string text = fmt::format("\n### {}: {}\n\n{}", markdown_text(it.id), markdown_text(it.in_short),
                                 markdown_text(it.sentence));
  for (std::string_view rest = it.details; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (!trim(rest.substr(0, end)).empty())
      text += fmt::format("<br>{}", markdown_text(trim(rest.substr(0, end))));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!it.advice.empty()) text += fmt::format("<br>help: {}", markdown_text(it.advice));
  return text + "\n";
}

}  // namespace

std::string to_annotations(const Findings& findings) {
  std::string text;
  std::size_t left_out = 0;
  for (const auto& [level, found] : findings.by_level()) {
    const std::size_t shown = std::min(found.size(), most_annotations);
    for (std::size_t i = 0; i < shown; ++i)
      text += annotation(level, found[i].place, found[i].in_short, text_of(found[i]));
    left_out += findings.count(level) - shown;
  }
  const std::size_t errors = std::min(findings.count(Level::error), most_annotations);
  const std::size_t rows = std::min(findings.bad_rows().size(), most_annotations - errors);
  for (std::size_t i = 0; i < rows; ++i)
    text +=
        annotation(Level::error, findings.bad_rows()[i].place, "not judged", findings.bad_rows()[i].words);
  left_out += findings.bad_row_count() - rows;
  if (left_out > 0)
    text += fmt::format("{} more are without an annotation: GitHub shows {} of each level a step\n", left_out,
                        most_annotations);
  return text;
}

std::string to_job_summary(const Findings& findings) {
  std::string table;
  std::string explanations;
  std::size_t rows = 0;
  std::size_t explained_count = 0;
  std::string head = heading_of(findings);
  for (const auto& [level, found] : findings.by_level())
    for (const Finding& it : found) {
      if (rows == most_summary_rows) break;
      const std::string row = row_of(it);
      if (head.size() + table.size() + explanations.size() + row.size() > longest_summary) break;
      table += row;
      ++rows;
      std::string more = explained_count < most_explained ? explained(it) : "";
      if (head.size() + table.size() + explanations.size() + more.size() > longest_summary) more.clear();
      explained_count += more.empty() ? 0 : 1;
      explanations += more;
    }
  std::string text = head;
  if (rows > 0) text += fmt::format("\n| kernel | place | verdict | meaning |\n|---|---|---|---|\n{}", table);
  if (const std::size_t all = findings.total() - findings.right(); all > rows)
    text += fmt::format("\n{} more are left out of this table.\n", all - rows);
  for (const Findings::BadRow& row : findings.bad_rows())
    if (text.size() + explanations.size() < longest_summary)
      text += fmt::format("\n- not judged: {}\n", markdown_text(row.words));
  return text + explanations + "\n";
}

}  // namespace kw::explain
