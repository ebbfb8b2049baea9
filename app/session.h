// Environment of a verb: the event loop, signals, ownership of processes, --dry-run, and child processes that
// run our Python package.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/core/result.h"
#include "loop/tasks/source.h"
#include "verify/workers/installation.h"

namespace kw::app {

// Environment of a verb that judges: the event loop, signals, and ownership of processes.
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_interrupted = 130;

// Prints "error: WHAT" and the remedy on standard error.
void complain(const Error& error);

// Complains; exit_failure.
int failed(const Error& error);

struct Session {
  async::Loop loop;
  async::Stop stop{loop};
  // Handler of the first signal; the default requests a stop.
  std::function<void(const std::string& cause)> on_signal;

  // Runs the coroutine to its end and calls `tick` every second. A second signal ends the program at once.
  // Returns the coroutine's result, or exit_interrupted if a signal requested the stop.
  int run(std::function<async::Task<int>()> work, std::function<void()> tick);

  // Whether a signal requested the stop. Work that breaks off for another cause requests a stop too.
  bool interrupted() const { return interrupted_; }

 private:
  void heed_signals();
  boost::asio::signal_set signals_{loop, SIGINT, SIGTERM, SIGHUP};
  bool interrupted_ = false;
};

// Makes this process the reaper of orphans of candidates, and the parent of their cgroups.
Result<> own_processes();

// Raises this process's limit of descriptors as far as the machine allows, for many connections.
void allow_descriptors(std::size_t count);

// Prints one line per job on standard output and bad rows on standard error, and runs nothing. The exit
// status is a failure for a bad row or a broken source.
int dry_run(Source& source, const std::function<std::string(const Job&)>& line_of);

// The Python executable and the environment of child processes that run the Python package.
struct PythonChild {
  std::string program;
  std::vector<std::string> environment;  // of this process, with the Python package on PYTHONPATH
  engine::Installation installation;
};

// Returns `asked` if it is not empty, else the result of engine::find_python.
Result<PythonChild> python_child(const std::string& asked);

}  // namespace kw::app
