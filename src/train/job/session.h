// One run of the trainer: its process from start to end, and its outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/process/child.h"
#include "train/job/events.h"

namespace kw::training {

// The descriptor for the child's events: process::Command::inherited, which run_child sets.
inline constexpr int events_fd = 3;

struct ChildHooks {
  std::function<void(std::string_view line)> line;  // one for each line on events_fd
  std::function<void(bool again)> stopping;         // a signal was forwarded; again: the child is killed
};

struct Ending {
  bool by_signal = false;
  int status = 0;                   // the exit status, or the signal
  bool interrupted = false;         // this program received a signal
  std::uint64_t dropped_lines = 0;  // lines above the limit
  std::string rest;                 // the text after the last line break
};

// Runs the command to its end. Forwards SIGINT, SIGTERM and SIGHUP to the child and waits while it saves its
// state; a second signal kills it. Finally kills the remaining processes of its group.
Result<Ending> run_child(process::Command command, const ChildHooks& hooks);

// One run of the trainer, from its first event to its outcome.
struct SessionHooks {
  std::function<void(const Told& told)> told;         // every event
  std::function<void(const std::string& note)> note;  // messages for the user
};

struct SessionOptions {
  process::Command command;
  std::string output_name;  // the file behind command.output; an error quotes its last lines
  EventLog* log = nullptr;  // null: events are not logged
};

// The outcome. Interrupted: a signal stopped it, which is not an error.
struct Outcome {
  bool interrupted = false;
  std::optional<Error> error;
  bool usage = false;  // of the error: the flags or the recipe are at fault
  std::optional<Done> done;
  std::vector<Error> warnings;
  bool fits = true;  // according to the estimate
};

Result<Outcome> run_session(const SessionOptions& options, const SessionHooks& hooks);

}  // namespace kw::training
