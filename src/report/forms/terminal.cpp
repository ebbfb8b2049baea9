#include <fmt/format.h>

#include <algorithm>

#include "report/forms/markdown.h"
#include "report/summary/circumstances.h"
#include "score/report/view.h"

namespace kw::report {
namespace {

using scoring::View;

constexpr std::size_t name_cells = 26;
constexpr std::size_t most_sources = 5;

class Lines {
 public:
  explicit Lines(const Style& style) : style_(style) {}

  void add(std::string_view name, std::string_view value, Colour colour = Colour::none) {
    std::size_t room = std::max<std::size_t>(style_.width, name_cells + 20) - name_cells;
    std::string_view shown = name;
    for (const std::string& line : wrapped(visible_line(value), room)) {
      std::string label = fitted(visible_line(shown), name_cells - 2);
      label.append(name_cells - cells(label), ' ');
      text_ += style_.paint(label, Colour::grey) + style_.paint(line, colour) + "\n";
      shown = "";
    }
  }
  std::string text() const { return text_; }

 private:
  Style style_;
  std::string text_;
};

std::string estimate_words(const score::Estimate& estimate, const char* unit = "") {
  std::string text = fmt::format("{:.3f}{}", estimate.value.value_or(0), unit);
  if (estimate.interval)
    text += fmt::format("  ({:.3f} to {:.3f})", estimate.interval->low, estimate.interval->high);
  return text + fmt::format("  of {} {}", estimate.tasks, estimate.tasks == 1 ? "task" : "tasks");
}

std::string samples_words(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "sample" : "samples");
}

void add_sources(const Index& index, Lines& lines) {
  std::size_t shown = 0;
  for (const SourceFacts& source : index.sources) {
    if (++shown > most_sources) break;
    bool whole = source.state == SourceState::finished && source.messages.empty();
    std::string words =
        fmt::format("{} ({}, {})", source.name, to_string(source.kind), to_string(source.state));
    if (!source.messages.empty()) words += ": " + source.messages.front();
    if (source.messages.size() > 1)
      words += fmt::format(" (and {} more messages)", source.messages.size() - 1);
    lines.add(shown == 1 ? "sources" : "", words, whole ? Colour::none : Colour::yellow);
  }
  if (index.sources.size() > most_sources)
    lines.add("", fmt::format("and {} more", index.sources.size() - most_sources));
}

void add_speed(const Summary& summary, Lines& lines) {
  for (const score::FastPoint& point : summary.fast_p.points) {
    if (point.p != 1 && point.p != 2) continue;
    std::string name = fmt::format("fast_{}", point.p);
    if (point.share.value)
      lines.add(name, estimate_words(point.share));
    else if (summary.geometric_mean_speedup.value)
      lines.add(name, fmt::format("between {:.3f} and {:.3f}: {} right without a known speed",
                                  point.at_least.value.value_or(0), point.at_most.value.value_or(1),
                                  point.unknown_speeds));
  }
  if (summary.geometric_mean_speedup.value)
    lines.add("speed-up, geometric mean", estimate_words(summary.geometric_mean_speedup, "x"));
  if (summary.geometric_mean_compile_speedup.value)
    lines.add("over torch.compile", estimate_words(summary.geometric_mean_compile_speedup, "x"));
  for (const std::string& sentence : not_measured(summary)) lines.add("", sentence);
}

void add_turns(const Summary& summary, Lines& lines) {
  if (summary.right_by_turn.size() > 1) {
    std::string words;
    for (const TurnPoint& point : summary.right_by_turn)
      words += fmt::format("{}{}: {}", words.empty() ? "" : ", ", point.turn, point.right);
    lines.add("right by turn",
              fmt::format("{}  of {}", words, samples_words(summary.right_by_turn.front().samples)));
  }
  std::map<std::string, std::size_t> errors;
  for (const auto& [turn, words] : summary.errors_by_turn)
    for (const auto& [word, count] : words) errors[word] += count;
  if (!errors.empty()) lines.add("errors (turns)", counted(errors));
  if (!summary.faults.empty()) lines.add("not judged (turns)", counted(summary.faults), Colour::yellow);
}

void add_comparisons(const Index& index, const Overview& overview, Lines& lines) {
  auto name = [&](std::size_t source) {
    return source < index.sources.size() ? index.sources[source].name : std::string();
  };
  for (const boost::json::value& each : overview.comparisons) {
    View comparison(each);
    lines.add("compared", fmt::format("{} with {}", name(comparison["after"].count()),
                                      name(comparison["before"].count())));
    for (View measure : comparison["measures"].list())
      lines.add(measure["name"].text() == "right" ? "  right answers" : "  speed of right tasks",
                measure["words"].text());
  }
}

}  // namespace

std::string terminal_summary(const Index& index, const Overview& overview, const Style& style) {
  const Summary& summary = overview.summary;
  Lines lines(style);
  add_sources(index, lines);
  std::size_t judged = summary.right + summary.wrong;
  if (summary.rows > 0) {
    lines.add("right",
              fmt::format("{} of {}{}", summary.right, samples_words(judged),
                          summary.unknown > 0 ? fmt::format(", {} not judged", summary.unknown) : ""));
    if (!summary.fast_p.points.empty() && summary.fast_p.points.front().share.value)
      lines.add("right (fast_0)", estimate_words(summary.fast_p.points.front().share));
    add_speed(summary, lines);
    add_turns(summary, lines);
    add_comparisons(index, overview, lines);
  }
  if (std::size_t others = index.rows.count - summary.rows; others > 0)
    lines.add("rows of data sets", fmt::format("{}", others));
  for (const Contents::LeftOut& left : index.contents.left_out)
    lines.add("left out", fmt::format("{} {} ({})", left.count, left.what, left.why));
  return lines.text();
}

}  // namespace kw::report
