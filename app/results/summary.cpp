#include "results/summary.h"

#include <fmt/format.h>

namespace kw {
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
  text += list("they differ:", sum.differences);
  text += list("not judged here:", sum.not_judged);
  return text;
}

}  // namespace kw
