// A child process: a program of our own, started with an argument vector, never through a shell.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace kw::process {

// Descriptors stay the caller's.
struct Command {
  std::vector<std::string> arguments;  // [0] is the program: a path, or a name that PATH finds
  std::optional<std::vector<std::string>> environment{};  // NAME=value, the whole of it; none: ours
  int input = -1;                                         // becomes 0; -1: /dev/null
  int output = -1;                                        // becomes 1; -1: /dev/null
  int errors = -1;                                        // becomes 2; -1: what 1 is
  int inherited = -1;                                     // becomes 3, where there is one
  bool own_group = true;  // Ctrl-C in the terminal is for us, and we end our children in order
};

// Killed, with its group where it has one, and reaped when it goes out of scope before it was waited for.
class Child {
 public:
  static Result<Child> start(const Command& command);
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), own_group_(other.own_group_) {}
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  void kill(int signal) const;
  // The group outlives its leader where somebody in it hangs; once the leader is reaped, the number of the
  // group may be another's.
  void kill_group(int signal) const;
  // Waits for its end and reaps it; the status as waitpid gives it.
  int wait();
  // Somebody else watches it from now on, and reaps it.
  void release();

 private:
  Child(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}

  pid_t pid_;
  bool own_group_;
};

// Reaps a child that has ended, whichever. What was a Child's keeps its status for it.
pid_t reap_any();

}  // namespace kw::process
