// Summary: the figures over the rows of an index: fast_p, speed-up, correctness and errors by turn, tokens
// and times. Their definitions are those of `score`.
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

// Samples whose traces have reached this turn, and those that are right in it or before.
struct TurnPoint {
  std::size_t turn = 0;
  std::size_t samples = 0;
  std::size_t right = 0;
};

struct Summary {
  std::size_t rows = 0;  // traces and verdicts; rows of data sets are not judged
  std::size_t tasks = 0;
  std::size_t right = 0;
  std::size_t wrong = 0;
  std::size_t unknown = 0;
  score::FastCurve fast_p;
  score::Estimate geometric_mean_speedup;
  std::vector<TurnPoint> right_by_turn;
  // Turn number → error class, "incorrect" or a reason why a result does not count → turns.
  std::map<std::size_t, std::map<std::string, std::size_t>> errors_by_turn;
  std::map<std::string, std::size_t> faults;  // of the task or the infrastructure: apart from the errors
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t reasoning_tokens = 0;
  double generation_s = 0;
  double judge_s = 0;
  std::map<std::string, std::size_t> best_kernel_of_task;  // task → row: the fastest right one
};

// Of all rows, or of those that are wanted.
using WantedRow = std::function<bool(std::size_t row)>;
Summary summarise(const Index& index, const WantedRow& wanted = {});

boost::json::object to_json(const Summary& summary);

// The outcome of each judged row, for paired comparisons (score/metrics/paired.h).
std::vector<score::Outcome> outcomes_of(const Index& index, const WantedRow& wanted = {});

}  // namespace kw::report
