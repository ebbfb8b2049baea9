// `kernelwright run`: tasks → model → verdict → feedback → traces, and the output during and after the run.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "base/async/loop.h"
#include "loop/refine/loop.h"
#include "loop/run_store/run_reader.h"
#include "options/input_flags.h"
#include "options/model_flags.h"
#include "options/shared_flags.h"
#include "output/progress.h"
#include "types/options.h"

namespace kw::app {

// `kernelwright run`: tasks → model → verdict → feedback → traces.
struct RunFlags {
  SourceFlags source;
  ModelFlags model;
  LoopFlags loop;
  Settings settings;
  EvaluatorFlags evaluator;
  RunOutputFlags output;

  void add(CLI::App& app);
};

// `verb` is the parsed verb; the run stores its resolved options. The exit status: 0 if every task had its
// conversation, 1 if the run ended early or a task could not be read, 130 after Ctrl-C.
int run(const RunFlags& flags, const CLI::App& verb);

// The same with tasks that another verb chose; flags.source then only describes their origin. The caller has
// called own_processes.
int run_tasks(const RunFlags& flags, const CLI::App& verb, SourcePtr source);

// Output of `run` during and after the run.
class RunReport {
 public:
  RunReport(const RunOutputFlags& flags, std::optional<std::size_t> total);

  // From here on every turn, end and error is also appended to that file with its time.
  Result<> log_to(const std::filesystem::path& file);
  // Names a wait before the first task; started() ends it.
  void wait_for(std::string words) { progress_.wait_for(std::move(words)); }
  // Sets the number of tasks and starts the clock of the progress.
  void started();
  // Calls `ended` for each trace that ended: in this call of the program, or (`resumed`) in an earlier one.
  refine::Hooks hooks(std::function<void(const Trace&, bool resumed)> ended);
  void say(const std::string& line);
  void tick() { progress_.tick(seconds()); }
  void finish() { progress_.finish(); }
  // Prints the summary as text on standard output, or as JSON with --json.
  void summary(const store::Summary& summary) const;

  bool had_bad_tasks() const { return bad_tasks_; }

 private:
  void judged(const Trace& trace, const Turn& turn);
  void ended(const Trace& trace, bool resumed);
  void log(const std::string& line);
  double seconds() const { return async::ms_since(start_) / 1000; }

  const RunOutputFlags& flags_;
  Progress progress_;
  std::ofstream log_;
  bool bad_tasks_ = false;
  async::SteadyClock::time_point start_ = async::SteadyClock::now();
};

}  // namespace kw::app
