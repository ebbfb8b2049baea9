// The trainer as a process of its own: started, listened to, asked to stop, waited for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "process/child.h"

namespace kw::training {

// Where the child writes events: process::Command::inherited, which run_child sets.
inline constexpr int events_fd = 3;

struct ChildHooks {
  std::function<void(std::string_view line)> line;  // one for each line on events_fd
  std::function<void(bool again)> stopping;  // a signal came, and was handed on; again: the child is killed
};

struct Ending {
  bool by_signal = false;
  int status = 0;                   // the exit status, or the signal
  bool interrupted = false;         // a signal came to us
  std::uint64_t dropped_lines = 0;  // that were too long
  std::string rest;                 // of a last line that was never ended
};

// Runs it to its end. SIGINT, SIGTERM and SIGHUP that come meanwhile are handed on to the child, which is
// given the time it needs to keep what it has; a second one kills it. What the child leaves behind in its
// process group is killed with it.
Result<Ending> run_child(process::Command command, const ChildHooks& hooks);

}  // namespace kw::training
