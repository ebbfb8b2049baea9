// The verdicts of `verify` and `explain` in the form of --format: the table with explanations, a SARIF log,
// or annotations and a job summary for GitHub's workflows.
#pragma once

#include <filesystem>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "options/verdict_table_flags.h"
#include "output/results.h"
#include "verify/explain/finding.h"

namespace kw::app {

class VerdictOutput {
 public:
  explicit VerdictOutput(const VerdictTableFlags& flags);

  void add(const ResultRow& row, const Verdict& verdict, const explain::Sources& sources,
           const explain::Origins& origins);
  // A row without a verdict. The table does not contain it.
  void add(const RowError& error);

  // Prints to standard output. For GitHub it also appends the summary to the file that GITHUB_STEP_SUMMARY
  // names; the error is that of this file. `is_complete`: every candidate got a verdict.
  Result<> print(bool is_complete) const;

 private:
  VerdictForm form_;
  ResultView table_;
  explain::Findings findings_;
  std::filesystem::path working_directory_;
};

}  // namespace kw::app
