// A service with two tasks in its catalogue.
#pragma once

#include "service_world.h"

namespace kw::service::test {

// A text in what a verdict must not quote: messages of the reference's process.
inline constexpr const char* secret = "MARKER-of-the-reference";

Task task_of(const std::string& id, const std::string& reference = "def reference_impl(x): return x");
TaskCataloguePtr catalogue_of(std::vector<Task> tasks);

struct TaskWorld : World {
  TaskWorld();
  // Restarts it with other options; `kill` loses the memory.
  void restart(const std::function<void(Options&)>& change = {}, bool killed = false);
  json::object open_conversation(json::object more = {});  // about task "one"
  Answer turn(const std::string& id, int turn, const std::string& completion, json::object more = {});
};

// A completion whose code the checks before verification let pass.
std::string completion_of(const std::string& mark);

// What the fake verifier says: right for a candidate that contains "right", else wrong.
Verdict by_mark(const Job& job);

}  // namespace kw::service::test
