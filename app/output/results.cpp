#include "output/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/display.h"
#include "verify/explain/explanation.h"
#include "verify/explain/words.h"

namespace kw {

ResultRow result_row(const Verdict& v, const std::optional<RecordedResult>& recorded, Trust min_trust) {
  ResultRow row;
  row.id = v.id;
  row.status = v.status;
  row.fault = v.fault;
  row.counts = v.counts;
  if (v.error_class) row.why = to_string(*v.error_class);
  if (v.counts_reason) row.why = to_string(*v.counts_reason);
  row.speedup = speedup_trusted(v, min_trust);
  row.reduced = v.shapes == Shapes::reduced;
  for (const auto& [stage, ms] : v.stages_ms) row.seconds += ms / 1000;
  if (recorded) row.recorded = recorded->correctness;
  return row;
}

std::string in_words(const ResultRow& row) {
  return explain::in_short(row.status, row.counts, row.why);
}

namespace {

using Cells = std::array<std::string, 6>;

constexpr std::size_t widest_id = 44;

Colour colour(const ResultRow& row) {
  return explain::colour_of(explain::level_of(row.status, row.counts));
}

std::string counts_cell(const ResultRow& row) {
  if (!row.counts) return "-";
  return *row.counts ? "yes" : fmt::format("no: {}", row.why);
}

Cells cells_of(const ResultRow& row) {
  return {fitted(visible_line(row.id), widest_id),
          fmt::format("{}{}", to_string(row.status), row.reduced ? " (reduced)" : ""),
          row.why.empty() || row.status == Status::correct ? "-" : row.why,
          counts_cell(row),
          row.speedup ? fmt::format("{:.2f}x", *row.speedup) : "-",
          fmt::format("{:.1f} s", row.seconds)};
}

bool is_number(std::size_t column) {
  return column >= 4;
}

std::string line(const Cells& row, const std::array<std::size_t, 6>& widths, Colour colour,
                 const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string blanks(widths[i] - cells(row[i]), ' ');
    std::string cell = i == 1 ? style.paint(row[i], colour) : row[i];
    text += i == 0 ? "" : "  ";
    text += is_number(i) ? blanks + cell : cell + blanks;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

}  // namespace

std::string results_table(const std::vector<ResultRow>& rows, const Style& style) {
  const Cells head{"id", "status", "error class", "counts", "speed-up", "time"};
  std::vector<Cells> all{head};
  for (const ResultRow& row : rows) all.push_back(cells_of(row));
  std::array<std::size_t, 6> widths{};
  for (const Cells& each : all)
    for (std::size_t i = 0; i < each.size(); ++i) widths[i] = std::max(widths[i], cells(each[i]));
  std::string text = line(head, widths, Colour::none, style);
  for (std::size_t i = 0; i < rows.size(); ++i) text += line(all[i + 1], widths, colour(rows[i]), style);
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
  std::string text =
      fmt::format("{} candidate{}: {} correct ({} count), {} incorrect, {} failed, {} skipped, {} error\n",
                  sum.total, sum.total == 1 ? "" : "s", sum.correct, sum.counting, sum.incorrect, sum.failed,
                  sum.skipped, sum.errors);
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

void Explanations::add(const Verdict& verdict, const explain::Sources& sources) {
  if (explain::level_of(verdict.status, verdict.counts) == explain::Level::none) return;
  if (texts_.size() == most)
    ++left_out_;
  else
    texts_.push_back(to_terminal(explain::explain(verdict, sources), style_));
}

std::string Explanations::text() const {
  std::string all;
  for (const std::string& text : texts_) all += "\n" + text;
  if (left_out_ > 0)
    all += fmt::format(
        "\n{} more verdicts are not explained here; --json and --output contain all verdicts in full\n",
        left_out_);
  return all.empty() ? all : all + "\n";
}

}  // namespace kw
