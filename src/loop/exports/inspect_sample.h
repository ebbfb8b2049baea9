// One trace as a sample of an inspect_ai log: its conversation, events and scores, and its line in the list
// of samples. The fields are those of inspect_ai.log.EvalSample and EvalSampleSummary.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loop/exports/moment.h"
#include "types/trace.h"

namespace kw::exports {

// The scorers of a log. correct_and_counts comes first: it is the headline.
inline constexpr const char* counts_scorer = "correct_and_counts";
inline constexpr const char* correct_scorer = "correct";
inline constexpr const char* speedup_scorer = "speedup";

// A value of a scorer: 0 or 1, or a speed-up. A verdict that does not say it gives none.
using ScoreValues = std::vector<std::pair<const char*, double>>;
ScoreValues values_of(const Verdict& verdict);

struct Sample {
  std::string id;     // ASCII, without "..": part of a member's name
  int epoch = 1;      // from 1
  std::string model;  // empty: unknown
  boost::json::object whole;
  boost::json::object summary;
  ScoreValues values;  // of the best turn
  std::optional<Moment> began;
  std::optional<Moment> ended;
  Usage usage;  // sums
  bool has_error = false;
};

// The task's id with every unsafe character replaced; an id that was changed ends with digits of its hash.
std::string sample_id(const std::string& task_id);

Sample sample_of(const Trace& trace, const std::string& id, int epoch);

}  // namespace kw::exports
