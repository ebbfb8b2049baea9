// The output of `run` during and after the run: progress, log and summary.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "base/async/loop.h"
#include "loop/refine/loop.h"
#include "loop/run_store/run_reader.h"
#include "options/shared_flags.h"
#include "output/progress.h"

namespace kw::app {

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
