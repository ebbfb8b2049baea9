// Reports figures of a training or a run to TensorBoard and trackio, through a Python process
// (kernelwright._reporting) that reads them from its standard input.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"
#include "base/process/child.h"
#include "options/tracker_flags.h"
#include "train/job/events.h"
#include "types/trace.h"

namespace kw::app {

class Tracker {
 public:
  struct Options {
    TrackerFlags targets;
    std::string name;    // of the run, for trackio
    std::string python;  // empty: found as for every verb
  };

  // Waits until the targets are open. An error says what is missing. Null if no target is asked for.
  static Result<std::unique_ptr<Tracker>> start(const Options& options);

  // Never waits: figures that the process has not read yet are kept, up to a bound, above which they are
  // dropped. Values that are not numbers are left out by the process.
  void log(std::uint64_t step, const boost::json::object& metrics);
  // Waits until all figures are stored, for a minute at most. An error names the first failure.
  Result<> finish();

 private:
  Tracker(process::Child child, Fd errors, Fd input, Fd answers);
  Result<> wait_ready();
  bool send(bool waits);
  bool answer_within(int seconds, std::string& text);
  Error broken(const std::string& otherwise);

  process::Child child_;
  Fd errors_;   // its standard error
  Fd input_;    // to its standard input: a socket, so that a write to an ended process is an error
  Fd answers_;  // from its standard output
  std::string pending_;
  std::size_t dropped_ = 0;
  bool is_lost_ = false;
};

// "train/loss" and the like, of the trainer's event.
boost::json::object figures_of(const training::Step& step);
boost::json::object figures_of(const training::HeldOutLoss& measured);

// The figures of a run after each trace that ended: shares of all so far, and the speed-up of this one.
class RunFigures {
 public:
  // Traces of an earlier call count as well, and give none.
  boost::json::object add(const Trace& trace);
  std::uint64_t ended() const { return ended_; }

 private:
  std::uint64_t ended_ = 0;
  std::uint64_t correct_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t measured_ = 0;
  std::uint64_t fast_1_ = 0;
  std::int64_t completion_tokens_ = 0;
};

}  // namespace kw::app
