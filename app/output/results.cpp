#include "output/results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/core/counted.h"
#include "base/core/display.h"
#include "verify/explain/explanation.h"
#include "verify/explain/words.h"

namespace kw {

namespace {

std::string in_words(const char* name, const Segment& segment) {
  const std::string times =
      fmt::format("{:.4g} to {:.4g} ms", segment.reference_time_ms, segment.kernel_time_ms);
  if (!segment.speedup) return fmt::format("{} {}", name, times);
  return fmt::format("{} {:.2f}x ({})", name, *segment.speedup, times);
}

}  // namespace

ResultRow result_row(const Verdict& v, const std::optional<RecordedResult>& recorded, Trust min_trust) {
  ResultRow row;
  row.id = v.id;
  row.status = v.status;
  row.fault = v.fault;
  row.counts = v.counts;
  if (v.error_class) row.why = to_string(*v.error_class);
  if (v.counts_reason) row.why = to_string(*v.counts_reason);
  row.speedup = speedup_trusted(v, min_trust);
  if (const auto& segments = v.timing.segments; segments && row.speedup)
    row.segments = fmt::format("{}, {}", in_words("forward", segments->forward),
                               in_words("backward", segments->backward));
  // The explanation of other results has them.
  if (explain::level_of(v.status, v.counts) == explain::Level::none)
    row.further_checks = explain::further_checks_in_words(v);
  row.reduced = v.shapes == Shapes::reduced;
  for (const auto& [stage, ms] : v.stages_ms) row.seconds += ms / 1000;
  if (recorded) row.recorded = recorded->correctness;
  return row;
}

std::string in_words(const ResultRow& row) {
  return explain::in_short(row.status, row.counts, row.why);
}

namespace {

constexpr std::size_t columns = 6;
using Cells = std::array<std::string, columns>;
using Widths = std::array<std::size_t, columns>;

constexpr std::size_t widest_id = 44;
constexpr std::size_t narrowest = 6;  // of a column of words
constexpr std::size_t gap = 2;
constexpr std::string_view none = "-";

explain::Level level_of(const ResultRow& row) {
  return explain::level_of(row.status, row.counts);
}

std::string counts_cell(const ResultRow& row) {
  if (!row.counts) return std::string(none);
  return *row.counts ? "yes" : fmt::format("no: {}", row.why);
}

Cells cells_of(const ResultRow& row) {
  return {fitted(visible_line(row.id), widest_id),
          fmt::format("{}{}", to_string(row.status), row.reduced ? " (reduced)" : ""),
          row.why.empty() || row.status == Status::correct ? std::string(none) : row.why,
          counts_cell(row),
          row.speedup ? fmt::format("{:.2f}x", *row.speedup) : std::string(none),
          fmt::format("{:.1f} s", row.seconds)};
}

bool is_number(std::size_t column) {
  return column >= 4;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, cells(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

// The table's layout: the columns that say something, and their widths.
class Layout {
 public:
  Layout(const Cells& head, const std::vector<Cells>& rows, std::size_t width) {
    for (std::size_t i = 0; i < columns; ++i) {
      if (std::ranges::all_of(rows, [i](const Cells& row) { return row[i] == none; })) continue;
      shown_.push_back(i);
      for (const Cells* row : all(head, rows)) {
        widths_[i] = std::max(widths_[i], cells((*row)[i]));
        least_[i] = std::max(least_[i], longest_word((*row)[i]));
      }
    }
    shrink(width, least_);  // between words
    least_[0] = narrowest;
    shrink(width, least_);  // within ids
    least_.fill(narrowest);
    shrink(width, least_);  // within all words
    for (std::size_t i : shown_) widths_[i] = needed(i, all(head, rows));
  }

  // The row's lines: as many as its highest cell has. The status is painted.
  std::string text(const Cells& row, Colour colour, const Style& style) const {
    std::array<std::vector<std::string>, columns> parts;
    std::size_t height = 1;
    for (std::size_t i : shown_) {
      parts[i] = wrapped(row[i], widths_[i]);
      height = std::max(height, parts[i].size());
    }
    std::string text;
    for (std::size_t at = 0; at < height; ++at) {
      std::string line;
      for (std::size_t i : shown_) {
        const std::string part = at < parts[i].size() ? parts[i][at] : "";
        const std::string blanks(widths_[i] - std::min(widths_[i], cells(part)), ' ');
        const std::string painted = i == 1 && !part.empty() ? style.paint(part, colour) : part;
        if (i != shown_.front()) line.append(gap, ' ');
        line += is_number(i) ? blanks + painted : painted + blanks;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }

 private:
  static std::vector<const Cells*> all(const Cells& head, const std::vector<Cells>& rows) {
    std::vector<const Cells*> found{&head};
    for (const Cells& row : rows) found.push_back(&row);
    return found;
  }

  // The width of a column after its cells are wrapped.
  std::size_t needed(std::size_t column, const std::vector<const Cells*>& rows) const {
    std::size_t widest = 0;
    for (const Cells* row : rows)
      for (const std::string& line : wrapped((*row)[column], widths_[column]))
        widest = std::max(widest, cells(line));
    return widest;
  }

  std::size_t total() const {
    std::size_t sum = gap * (shown_.size() - 1);
    for (std::size_t i : shown_) sum += widths_[i];
    return sum;
  }

  // Narrows the widest of the columns of words that are above their least width, until the rows fit.
  void shrink(std::size_t width, const Widths& least) {
    while (total() > width) {
      std::size_t widest = columns;
      for (std::size_t i : shown_)
        if (!is_number(i) && widths_[i] > least[i] && (widest == columns || widths_[i] > widths_[widest]))
          widest = i;
      if (widest == columns) return;
      --widths_[widest];
    }
  }

  std::vector<std::size_t> shown_;
  Widths widths_{};
  Widths least_{};
};

// Below a row, over as many lines as the words need.
std::string indented(const std::string& words, const Style& style) {
  if (words.empty()) return {};
  std::string text;
  for (const std::string& line : wrapped(words, style.width - std::min(style.width - 1, gap)))
    text += style.paint(fmt::format("{:{}}{}", "", gap, line), Colour::grey) + "\n";
  return text;
}

}  // namespace

std::string results_table(const std::vector<ResultRow>& rows, const Style& style) {
  std::vector<const ResultRow*> ordered;
  for (const ResultRow& row : rows) ordered.push_back(&row);
  std::ranges::sort(ordered, {}, [](const ResultRow* row) {
    return std::tuple(-static_cast<int>(level_of(*row)), row->position, row);
  });
  const Cells head{"id", "status", "error class", "counts", "speed-up", "time"};
  std::vector<Cells> cells;
  for (const ResultRow* row : ordered) cells.push_back(cells_of(*row));
  const Layout layout(head, cells, style.width);
  std::string text = layout.text(head, Colour::none, style);
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    text += layout.text(cells[i], explain::colour_of(level_of(*ordered[i])), style);
    if (!ordered[i]->segments.empty())
      text += style.paint(fitted("  " + ordered[i]->segments, style.width), Colour::grey) + "\n";
    text += indented(ordered[i]->further_checks, style);
  }
  return text;
}

namespace {

void count_status(const ResultRow& row, Summary& sum) {
  switch (row.status) {
    case Status::correct:
      ++sum.correct;
      if (row.counts.value_or(false)) ++sum.counting;
      break;
    case Status::incorrect:
      ++sum.incorrect;
      break;
    case Status::failed:
      ++sum.failed;
      break;
    case Status::skipped:
      ++sum.skipped;
      break;
    case Status::error:
      ++sum.errors;
      if (row.fault == Fault::infrastructure) ++sum.infrastructure;
      break;
  }
}

void compare(const ResultRow& row, Summary& sum) {
  if (!row.recorded) return;
  std::string both =
      fmt::format("{}: recorded {}, here {}", row.id, *row.recorded ? "correct" : "wrong", in_words(row));
  if (row.status == Status::skipped || row.status == Status::error) {
    sum.not_judged.push_back(std::move(both));
    return;
  }
  ++sum.compared;
  if (*row.recorded == (row.status == Status::correct))
    ++sum.agreed;
  else
    sum.differences.push_back(std::move(both));
}

std::string list(std::string_view head, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = fmt::format("{}\n", head);
  for (const std::string& line : lines) text += fmt::format("  {}\n", line);
  return text;
}

}  // namespace

Summary summarise(const std::vector<ResultRow>& rows) {
  Summary sum;
  for (const ResultRow& row : rows) {
    ++sum.total;
    count_status(row, sum);
    if (row.speedup) ++sum.measured;
    if (row.status == Status::correct && row.counts.value_or(false) && row.speedup.value_or(0) > 1.0)
      ++sum.faster;
    compare(row, sum);
  }
  return sum;
}

std::string in_words(const Summary& sum) {
  std::string text = fmt::format("{}: {} correct ({} count), {} incorrect, {} failed, {} skipped, {} error\n",
                                 counted(sum.total, "candidate"), sum.correct, sum.counting, sum.incorrect,
                                 sum.failed, sum.skipped, sum.errors);
  if (sum.measured > 0)
    text += fmt::format("fast_1: {} of {} are correct, count and are faster than the reference ({:.1f}%)\n",
                        sum.faster, sum.total,
                        100.0 * static_cast<double>(sum.faster) / static_cast<double>(sum.total));
  if (sum.compared + sum.not_judged.size() > 0)
    text += fmt::format("recorded verdicts: {} of {} agree\n", sum.agreed, sum.compared);
  text += list("differing verdicts:", sum.differences);
  text += list("not judged on this machine:", sum.not_judged);
  return text;
}

void Explanations::add(std::size_t position, const Verdict& verdict, const explain::Sources& sources) {
  const explain::Level level = explain::level_of(verdict.status, verdict.counts);
  const bool shows_output = options_.show_output && verdict.printed;
  if (level == explain::Level::none && !shows_output) return;
  ++count_;
  const std::pair place(-static_cast<int>(level), position);
  const bool is_full = texts_.size() == most;
  if (is_full && place >= std::prev(texts_.end())->first) return;
  if (is_full) texts_.erase(std::prev(texts_.end()));
  explain::Explanation explanation = explain::explain(verdict, sources);
  if (!shows_output) explanation.printed.clear();
  texts_.emplace(place, to_terminal(explanation, options_.style));
}

std::string Explanations::text() const {
  std::string all;
  for (const auto& [place, text] : texts_) all += "\n" + text;
  if (count_ > texts_.size())
    all += fmt::format(
        "\n{} more verdicts are not explained here; `kernelwright explain FILE ID` explains each verdict of "
        "a "
        "file that --output or --json wrote\n",
        count_ - texts_.size());
  return all.empty() ? all : all + "\n";
}

void ResultView::add(const ResultRow& row, const Verdict& verdict, const explain::Sources& sources) {
  ++count_;
  if (!options_.only.holds(row.status, row.counts, row.why)) return;
  rows_.push_back(row);
  explanations_.add(row.position, verdict, sources);
}

std::string ResultView::text() const {
  if (count_ == 0) return {};
  if (rows_.empty())
    return fmt::format("--only {}: none of {}\n", fmt::join(options_.only.words, ","),
                       counted(count_, "verdict"));
  return results_table(rows_, options_.style) + explanations_.text();
}

}  // namespace kw
