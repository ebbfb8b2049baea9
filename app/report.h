// What a run says while it goes and when it is over: lines of results, progress, table, summary, exit status.
#pragma once

#include <optional>
#include <vector>

#include "async/loop.h"
#include "evaluator.h"
#include "pipeline.h"
#include "results/explanations.h"
#include "results/progress.h"
#include "results/result_row.h"
#include "results/result_sink.h"
#include "tasks/kernelbench_results.h"
#include "verify.h"

namespace kw::app {

class Report {
 public:
  Report(const VerifyFlags& flags, ResultSink sink, std::optional<std::size_t> total);

  void started(Evaluator& evaluator);
  void say(const std::string& line) { progress_.say(line); }
  PipelineHooks hooks();
  void tick();
  void finish();

  // 1 where a row got no verdict or could not be read, or --fail-on-incorrect has a wrong one.
  int exit_status() const { return exit_status_; }

 private:
  void judged(const Job& job, const Verdict& verdict);
  void bad_row(const RowError& error);
  bool done_before(const Job& job, const std::string& work);
  void add_row(const Job& job, const Verdict& verdict);
  void remember_for_kernelbench(const Job& job, const Verdict& verdict);
  std::string run_folder() const;
  void trouble(const Error& error);
  double seconds() const { return async::ms_since(start_) / 1000; }

  const VerifyFlags& flags_;
  ResultSink sink_;
  Progress progress_;
  std::vector<ResultRow> rows_;
  Explanations explanations_;
  std::vector<KernelBenchResult> kernelbench_;
  async::SteadyClock::time_point start_ = async::SteadyClock::now();
  int exit_status_ = 0;
};

}  // namespace kw::app
