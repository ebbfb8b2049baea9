#include "report/summary/by_turn.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kw::report {
namespace {

using score::Standing;

// The columns of a verdict, of Turns or of Rows.
struct Judged {
  std::string_view status, standing, counts_reason, error_class, fault;
};

template <typename Table>
Judged judged(const Table& table, std::size_t at) {
  return {table.status[at], table.standing[at], table.counts_reason[at], table.error_class[at],
          table.fault[at]};
}

std::string_view first_of(std::initializer_list<std::string_view> words) {
  for (std::string_view word : words)
    if (!word.empty()) return word;
  return {};
}

// Of a wrong turn. A result that is correct and does not count may lack its reason.
std::string_view reason_of(const Judged& verdict) {
  std::string_view status =
      verdict.status == to_string(Status::correct) ? "no reason recorded" : verdict.status;
  return first_of({verdict.error_class, verdict.counts_reason, status});
}

class Mean {
 public:
  void add(std::optional<double> value) {
    if (!value || *value < 0) return;
    sum_ += *value;
    ++count_;
  }
  // Empty also if every value is 0: an input without the field reads as 0.
  std::optional<double> over(double unit = 1) const {
    return count_ > 0 && sum_ > 0 ? std::optional(sum_ / static_cast<double>(count_) / unit) : std::nullopt;
  }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

struct Costs {
  std::size_t turns = 0;
  Mean prompt_tokens, completion_tokens, reasoning_tokens, generation_ms, judge_ms;
};

std::optional<double> as_number(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

class ByTurn {
 public:
  ByTurn(Summary& summary, const score::Bootstrap& bootstrap) : summary_(summary), bootstrap_(bootstrap) {}

  void add(std::size_t row, std::size_t turn, const Judged& verdict) {
    if (verdict.status.empty() && verdict.standing.empty()) return;  // not judged yet
    Standing standing = from_string<Standing>(verdict.standing).value_or(Standing::unknown);
    if (standing == Standing::unknown) {
      auto word = first_of({verdict.error_class, verdict.status});
      ++summary_
            .faults[verdict.fault.empty() ? std::string(word) : fmt::format("{}: {}", verdict.fault, word)];
      return;
    }
    last_ = std::max(last_, turn);
    std::size_t& right_at = right_at_.emplace(row, never).first->second;
    if (standing == Standing::right)
      right_at = std::min(right_at, turn);
    else if (auto word = reason_of(verdict); !word.empty())
      ++summary_.errors_by_turn[turn][std::string(word)];
  }

  void add_costs(std::size_t turn, const Turns& turns, std::size_t at) {
    Costs& costs = costs_[turn];
    ++costs.turns;
    costs.prompt_tokens.add(as_number(turns.prompt_tokens[at]));
    costs.completion_tokens.add(as_number(turns.completion_tokens[at]));
    costs.reasoning_tokens.add(as_number(turns.reasoning_tokens[at]));
    costs.generation_ms.add(turns.generation_ms[at]);
    costs.judge_ms.add(turns.judge_ms[at]);
  }

  void finish(const Rows& rows) {
    std::map<std::string, std::vector<std::size_t>> tasks;  // the first right turn of each sample
    for (const auto& [row, right_at] : right_at_) tasks[task_of(rows, row)].push_back(right_at);
    for (std::size_t turn = 1; turn <= last_; ++turn) summary_.right_by_turn.push_back(point(tasks, turn));
    for (const auto& [turn, costs] : costs_)
      summary_.costs_by_turn.push_back({turn, costs.turns, costs.prompt_tokens.over(),
                                        costs.completion_tokens.over(), costs.reasoning_tokens.over(),
                                        costs.generation_ms.over(1000), costs.judge_ms.over(1000)});
  }

 private:
  static constexpr std::size_t never = static_cast<std::size_t>(-1);

  TurnPoint point(const std::map<std::string, std::vector<std::size_t>>& tasks, std::size_t turn) const {
    TurnPoint point;
    point.turn = turn;
    std::vector<double> shares;
    for (const auto& [task, samples] : tasks) {
      auto right = static_cast<std::size_t>(
          std::ranges::count_if(samples, [turn](std::size_t right_at) { return right_at <= turn; }));
      point.samples += samples.size();
      point.right += right;
      shares.push_back(static_cast<double>(right) / static_cast<double>(samples.size()));
    }
    point.share = score::mean_over_tasks(shares, bootstrap_);
    return point;
  }

  Summary& summary_;
  score::Bootstrap bootstrap_;
  std::size_t last_ = 0;
  std::map<std::size_t, std::size_t> right_at_;  // row → first right turn
  std::map<std::size_t, Costs> costs_;
};

}  // namespace

void add_turns(const Index& index, const WantedRow& wanted, const score::Bootstrap& bootstrap,
               Summary& summary) {
  const Rows& rows = index.rows;
  const Turns& turns = index.turns;
  ByTurn figures(summary, bootstrap);
  std::vector<std::size_t> seen(rows.count, 0);  // turns of each row
  for (std::size_t at = 0; at < turns.count; ++at) {
    auto row = static_cast<std::size_t>(turns.row[at].value_or(-1));
    if (row >= rows.count || !is_sample(rows, row, wanted)) continue;
    std::size_t turn = ++seen[row];
    if (!is_unfinished(rows, row)) figures.add(row, turn, judged(turns, at));
    figures.add_costs(turn, turns, at);
  }
  for (std::size_t row = 0; row < rows.count; ++row) {
    if (seen[row] > 0 || !is_sample(rows, row, wanted) || is_unfinished(rows, row)) continue;
    if (rows.kind[row] == to_string(RowKind::verdict))
      figures.add(row, 1, judged(rows, row));
    else if (!rows.stop_reason.is_null(row))
      ++summary.faults[std::string(rows.stop_reason[row])];
  }
  figures.finish(rows);
}

}  // namespace kw::report
