// What table and summary keep of a verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/job.h"
#include "schema/verdict.h"

namespace kw {

struct ResultRow {
  std::string id;
  Status status = Status::error;
  std::optional<Fault> fault;
  std::string why;  // its error class, or why it does not count; empty: neither
  std::optional<bool> counts;
  std::optional<double> speedup;  // none as well where min_trust says not to believe it
  bool reduced = false;
  double seconds = 0;            // over all stages
  std::optional<bool> recorded;  // what an earlier evaluator said
};

// A speed-up from a less trusted instrument than min_trust is left out.
ResultRow result_row(const Verdict& verdict, const std::optional<RecordedResult>& recorded, Trust min_trust);

// "correct", "incorrect (wrong_value)", "correct, does not count (proves_nothing)".
std::string in_words(const ResultRow& row);

}  // namespace kw
