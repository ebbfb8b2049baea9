// What `run` says while it goes and when it is over.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "async/loop.h"
#include "flags/run_output_flags.h"
#include "refine/loop.h"
#include "results/progress.h"
#include "store/run_reader.h"

namespace kw::app {

class RunReport {
 public:
  RunReport(const RunOutputFlags& flags, std::optional<std::size_t> total);

  // From here on every turn, end and error is a line of that file too, with its time; it is appended to.
  Result<> log_to(const std::filesystem::path& file);
  // The tasks that are to come: the clock of the progress starts.
  void started();
  // `ended` is called for each trace that ended in this run.
  refine::Hooks hooks(std::function<void()> ended);
  void say(const std::string& line);
  void tick() { progress_.tick(seconds()); }
  void finish() { progress_.finish(); }
  // In words on standard output, or as JSON with --json.
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
