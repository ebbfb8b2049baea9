// One run of the trainer, from its first event to what came of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "training/child.h"
#include "training/event_log.h"
#include "training/events.h"

namespace kw::training {

struct SessionHooks {
  std::function<void(const Told& told)> told;         // every event
  std::function<void(const std::string& note)> note;  // what the user should know besides
};

struct SessionOptions {
  process::Command command;
  std::string output_name;  // of the file behind command.output, for messages; read for what went wrong
  EventLog* log = nullptr;  // none: nothing is kept
};

// How it went. Interrupted: a signal stopped it, which is no error.
struct Outcome {
  bool interrupted = false;
  std::optional<Error> error;
  std::optional<Done> done;
  bool fits = true;  // as it was estimated
};

Result<Outcome> run_session(const SessionOptions& options, const SessionHooks& hooks);

}  // namespace kw::training
