#include <fmt/format.h>

#include <algorithm>

#include "base/core/counted.h"
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
  return text + "  of " + counted(estimate.tasks, "task");
}

std::string samples_words(std::size_t count) {
  return counted(count, "sample");
}

std::string interval_words(const score::Estimate& estimate) {
  return estimate.interval
             ? fmt::format(" ({:.3f} to {:.3f})", estimate.interval->low, estimate.interval->high)
             : std::string();
}

// The headline of one of several sources, in one line.
std::string headline_words(const Summary& summary) {
  std::string text = right_words(summary);
  for (const score::FastPoint& point : summary.fast_p.points)
    if ((point.p == 0 || point.p == 1) && point.share.value)
      text += fmt::format("; fast_{} {:.3f}{}", point.p, *point.share.value, interval_words(point.share));
  if (const score::Estimate& mean = summary.geometric_mean_speedup; mean.value)
    text += fmt::format("; speed-up {:.3f}x{}", *mean.value, interval_words(mean));
  else
    text += "; speed not measured: " + summary.no_speed;
  return text;
}

void add_each_source(const Index& index, const Overview& overview, Lines& lines) {
  std::size_t shown = 0;
  for (const SourceSummary& each : overview.by_source) {
    if (++shown > most_sources) break;
    lines.add(index.sources[each.source].name, headline_words(each.summary));
  }
  if (overview.judged_sources > most_sources)
    lines.add("", "and " + counted(overview.judged_sources - most_sources, "more source"));
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
      words += fmt::format(" (and {})", counted(source.messages.size() - 1, "more message"));
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

void add_headline(const Summary& summary, Lines& lines) {
  lines.add("right", right_words(summary));
  if (!summary.fast_p.points.empty() && summary.fast_p.points.front().share.value)
    lines.add("right (fast_0)", estimate_words(summary.fast_p.points.front().share));
  add_speed(summary, lines);
}

// How often each word occurs in a column of the samples.
void add_words(std::string_view name, const Rows& rows, const WordColumn& column, Lines& lines) {
  std::map<std::string, std::size_t> counts;
  for (std::size_t row = 0; row < rows.count; ++row)
    if (!column.is_null(row) && is_sample(rows, row, {})) ++counts[std::string(column[row])];
  if (!counts.empty()) lines.add(name, counts_in_words(counts));
}

// `pooled`: "pooled over 2 sources", or empty.
void add_turns(const Summary& summary, const std::string& pooled, Lines& lines) {
  std::string end = pooled.empty() ? "" : "  (" + pooled + ")";
  if (summary.right_by_turn.size() > 1) {
    std::string words;
    for (const TurnPoint& point : summary.right_by_turn)
      words += fmt::format("{}{}: {}", words.empty() ? "" : ", ", point.turn, point.right);
    lines.add("right by turn",
              fmt::format("{}  of {}{}", words, samples_words(summary.right_by_turn.front().samples), end));
  }
  std::map<std::string, std::size_t> errors;
  for (const auto& [turn, words] : summary.errors_by_turn)
    for (const auto& [word, count] : words) errors[word] += count;
  if (!errors.empty()) lines.add("errors (turns)", counts_in_words(errors) + end);
  if (!summary.faults.empty())
    lines.add("turns not judged", counts_in_words(summary.faults) + end, Colour::yellow);
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
  if (summary.rows > 0) {
    if (overview.is_pooled())
      add_each_source(index, overview, lines);
    else
      add_headline(summary, lines);
    add_words("other shapes", index.rows, index.rows.other_shapes, lines);
    add_words("sanitizers", index.rows, index.rows.sanitized, lines);
    add_turns(summary, pooled_words(overview), lines);
    add_comparisons(index, overview, lines);
  }
  if (std::size_t others = index.rows.count - summary.rows; others > 0)
    lines.add("rows of data sets", fmt::format("{}", others));
  for (const Contents::LeftOut& left : index.contents.left_out)
    lines.add("left out", fmt::format("{} {} ({})", left.count, left.what, left.why));
  return lines.text();
}

}  // namespace kw::report
