// `kernelwright verify`: judges candidates, and prints lines of results, progress, table, summary.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <vector>

#include "base/async/loop.h"
#include "loop/tasks/kernelbench_results.h"
#include "options/input_flags.h"
#include "options/shared_flags.h"
#include "options/verdict_table_flags.h"
#include "output/progress.h"
#include "output/result_sink.h"
#include "output/results.h"
#include "pipeline.h"
#include "types/options.h"
#include "verdict_output.h"
#include "verifier_source.h"
#include "verify/judge/static_verifier.h"

namespace kw::app {

// `kernelwright verify`: judges candidates.
struct VerifyFlags {
  InputFlags input;
  Settings settings;
  EvaluatorFlags evaluator;
  OutputFlags output;
  VerdictTableFlags table;

  void add(CLI::App& app);
};

// `verb` is the parsed verb. The exit status: 0 if every candidate got a verdict, 1 if one got none, 130
// after Ctrl-C.
int verify(const VerifyFlags& flags, const CLI::App& verb);

// Output of `verify`: lines of results, progress, table, summary, exit status.
class Report {
 public:
  Report(const VerifyFlags& flags, ResultSink sink, std::optional<std::size_t> total);

  // The evaluator is being started; `words` names the wait.
  void starting(std::string words) { progress_.wait_for(std::move(words)); }
  void started(VerifierSource& evaluator);
  // Rows that such a verifier refused in an earlier run are not judged again by another.
  void look_up_refusals(verify::StaticVerifier by_source) { by_source_.emplace(std::move(by_source)); }
  void bad_row(const RowError& error);
  void say(const std::string& line) { progress_.say(line); }
  PipelineHooks hooks();
  void tick();
  // `to_end`: all rows were read.
  void finish(bool to_end);

  // What Ctrl-C keeps, and how to go on.
  std::string interruption(std::optional<std::size_t> total) const;

  // 1 if a row has no verdict or is unreadable, or with --fail-on-incorrect if a candidate is incorrect.
  int exit_status() const { return exit_status_; }

 private:
  Result<> judged(const Job& job, const Verdict& verdict);
  Result<bool> done_before(const Job& job, const std::string& work);
  Result<std::optional<Verdict>> stored(const Job& job, const std::string& work) const;
  void add_row(const Job& job, const Verdict& verdict);
  void write_into(const std::string& run_folder);
  std::string run_folder() const;
  void trouble(const Error& error);
  double seconds() const { return async::ms_since(start_) / 1000; }

  const VerifyFlags& flags_;
  ResultSink sink_;
  std::optional<verify::StaticVerifier> by_source_;  // where candidates are judged on this machine
  Progress progress_;
  std::vector<ResultRow> rows_;
  VerdictOutput shown_;
  bool every_row_judged_ = true;
  std::size_t bad_rows_ = 0;
  std::vector<KernelBenchResult> kernelbench_;
  async::SteadyClock::time_point start_ = async::SteadyClock::now();
  int exit_status_ = 0;
};

}  // namespace kw::app
