// The results of a run in text: the terminal table with one line per candidate, the summary of all verdicts,
// and explanations for candidates that are not correct and counting.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/display.h"
#include "types/job.h"
#include "types/verdict.h"
#include "verify/explain/explanation.h"
#include "verify/explain/selection.h"

namespace kw {

// The parts of a verdict that table and summary use.
struct ResultRow {
  std::string id;
  std::size_t position = 0;  // in the input
  Status status = Status::error;
  std::optional<Fault> fault;
  std::string why;  // the error class, or why it does not count; else empty
  std::optional<bool> counts;
  std::optional<double> speedup;  // none if its trust is below min_trust
  std::string segments;        // speed-ups of forward and backward pass in words; empty: not timed one by one
  std::string further_checks;  // of a right result, by --varied-shapes and --sanitize, in words; else empty
  bool reduced = false;
  double seconds = 0;            // over all stages
  std::optional<bool> recorded;  // the verdict of an earlier evaluator
};

// Omits a speed-up with less trust than min_trust.
ResultRow result_row(const Verdict& verdict, const std::optional<RecordedResult>& recorded, Trust min_trust);

// "correct", "incorrect (wrong_value)", "correct, does not count (proves_nothing)".
std::string in_words(const ResultRow& row);

// The terminal table: failures first, else in the order of the input, and below a row its segments and
// further checks. Leaves out a column that is empty in all rows, and wraps cells between words where the rows
// are wider than the style.
std::string results_table(const std::vector<ResultRow>& rows, const Style& style);

// Summary of all verdicts of a run.
struct Summary {
  std::size_t total = 0;
  std::size_t correct = 0;
  std::size_t counting = 0;
  std::size_t incorrect = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
  std::size_t errors = 0;
  std::size_t infrastructure = 0;  // of the errors: those that got no verdict
  std::size_t measured = 0;        // rows with a speed-up
  std::size_t faster = 0;          // of these: correct, counting, above 1.0
  std::size_t compared = 0;        // with a recorded verdict, and judged here
  std::size_t agreed = 0;
  std::vector<std::string> differences;
  std::vector<std::string> not_judged;  // recorded, but skipped or error here
};

Summary summarise(const std::vector<ResultRow>& rows);

std::string in_words(const Summary& summary);

// Explanations below the table, for candidates that are not correct and counting: failures first.
class Explanations {
 public:
  // The maximum number of explanations; for the others only their number is printed.
  static constexpr std::size_t most = 20;

  struct Options {
    Style style;
    bool show_output = false;  // also of the output of the candidates' processes, even of right ones
  };
  explicit Explanations(const Options& options) : options_(options) {}

  // Ignores verdicts that are correct and count, unless their output is shown. `position`: in the input.
  void add(std::size_t position, const Verdict& verdict, const explain::Sources& sources);
  // Prints a blank line before each explanation; prints nothing if there is none.
  std::string text() const;

 private:
  Options options_;
  // The first `most`, by negated level and position in the input.
  std::multimap<std::pair<int, std::size_t>, std::string> texts_;
  std::size_t count_ = 0;
};

// The table of a run and the explanations below it.
class ResultView {
 public:
  struct Options {
    Style style;
    explain::Selection only = {};  // of the shown verdicts
    bool show_output = false;
  };
  explicit ResultView(const Options& options)
      : options_(options), explanations_({options.style, options.show_output}) {}

  void add(const ResultRow& row, const Verdict& verdict, const explain::Sources& sources);
  // Empty if nothing was added.
  std::string text() const;

 private:
  Options options_;
  std::vector<ResultRow> rows_;  // the shown ones
  std::size_t count_ = 0;        // of all
  Explanations explanations_;
};

}  // namespace kw
