// Summary: the figures over the rows of an index: fast_p, speed-up, correctness and errors by turn, tokens
// and times. docs/report_format.md defines them; the averages and intervals are those of `score`.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/model/index.h"
#include "score/metrics/measures.h"

namespace kw::report {

// Of all rows, or of those that are wanted.
using WantedRow = std::function<bool(std::size_t row)>;

enum class Baseline { eager, compile };

// Samples that are right in this turn or before, out of all that have a judged turn.
struct TurnPoint {
  std::size_t turn = 0;
  std::size_t samples = 0;
  std::size_t right = 0;
  score::Estimate share;  // over tasks
};

// Means over the turns with this number that state the value.
struct TurnCosts {
  std::size_t turn = 0;
  std::size_t turns = 0;
  std::optional<double> prompt_tokens;
  std::optional<double> completion_tokens;
  std::optional<double> reasoning_tokens;
  std::optional<double> generation_s;
  std::optional<double> judge_s;
};

// Verdicts with an evidence record.
struct EvidenceCounts {
  std::size_t judged = 0;       // turns with a verdict
  std::size_t kept = 0;         // those with a record
  std::size_t best_judged = 0;  // the same of best turns: one a row
  std::size_t best_kept = 0;
};

struct Summary {
  std::size_t rows = 0;  // traces and verdicts; rows of data sets are not judged
  std::size_t tasks = 0;
  std::size_t right = 0;
  std::size_t wrong = 0;
  std::size_t unknown = 0;
  std::size_t unfinished = 0;  // traces that have not ended: in `rows` and the costs, in no other figure
  // Why no speed is known, as "no GPU"; empty where one is. The points of fast_p over 0 have no value then.
  std::string no_speed;
  score::FastCurve fast_p;
  std::optional<score::FastCurve> fast_p_compile;  // where a right row has a time of torch.compile
  score::Estimate geometric_mean_speedup;
  score::Estimate geometric_mean_compile_speedup;
  std::vector<TurnPoint> right_by_turn;
  // Turn → error class, reason why a result does not count, or status → turns.
  std::map<std::size_t, std::map<std::string, std::size_t>> errors_by_turn;
  std::map<std::string, std::size_t> faults;  // not judged: apart from the errors
  std::vector<TurnCosts> costs_by_turn;
  std::optional<std::int64_t> prompt_tokens;
  std::optional<std::int64_t> completion_tokens;
  std::optional<std::int64_t> reasoning_tokens;
  std::optional<double> generation_s;
  std::optional<double> judge_s;
  std::map<std::string, std::size_t> best_kernel_of_task;  // task → row
  EvidenceCounts evidence;
};

Summary summarise(const Index& index, const WantedRow& wanted = {}, const score::Bootstrap& bootstrap = {});

// Without comparisons and claims: overview.h has the whole field `summary` of a report.
boost::json::object to_json(const Summary& summary);

// The outcome of each row that has ended, for paired comparisons (score/metrics/paired.h).
std::vector<score::Outcome> outcomes_of(const Index& index, const WantedRow& wanted = {},
                                        Baseline baseline = Baseline::eager);

// Whether the row is a trace or a verdict, and wanted.
bool is_sample(const Rows& rows, std::size_t row, const WantedRow& wanted);
// A trace that has not ended.
bool is_unfinished(const Rows& rows, std::size_t row);
// Unknown of an unfinished trace.
score::Standing standing_of(const Rows& rows, std::size_t row);
// The task's id; a row without one is a task of its own.
std::string task_of(const Rows& rows, std::size_t row);
// Of a right row; empty if it is unknown.
std::optional<double> speedup_of(const Rows& rows, std::size_t row, Baseline baseline);

}  // namespace kw::report
