// Child processes, started with an argument vector and without a shell; a helper has readable standard
// output.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"

namespace kw::process {

// The caller keeps ownership of the descriptors.
struct Command {
  std::vector<std::string> arguments;  // [0] is the program: a path, or a name that PATH finds
  std::optional<std::vector<std::string>> environment{};  // NAME=value, complete; none: inherited
  int input = -1;                                         // becomes 0; -1: /dev/null
  int output = -1;                                        // becomes 1; -1: /dev/null
  int errors = -1;                                        // becomes 2; -1: the same as 1
  int inherited = -1;                                     // becomes 3; -1: none
  bool own_group = true;  // Ctrl-C in the terminal does not reach it: the parent ends its children in order
};

// The destructor kills and reaps it, with its group if it has one, unless it was waited for.
class Child {
 public:
  static Result<Child> start(const Command& command);
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), own_group_(other.own_group_) {}
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  void kill(int signal) const;
  // Kills the group. The group outlives its leader while a member hangs; after the leader is reaped, the
  // group's number may be reused.
  void kill_group(int signal) const;
  // Waits for its end and reaps it; the status is that of waitpid.
  int wait();
  // Releases it: another owner watches and reaps it.
  void release();

 private:
  Child(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}

  pid_t pid_;
  bool own_group_;
};

// Reaps any ended child. A Child keeps its status.
pid_t reap_any();

// The destructor kills and reaps it unless finish() was called.
class Helper {
 public:
  Helper(Child child, Fd errors) : child_(std::move(child)), errors_(std::move(errors)) {}

  // Waits for its end. Unless the status is 0, returns an error with the last line of its standard error.
  Result<> finish();

 private:
  Child child_;
  Fd errors_;
};

// Handling of a helper's standard error: kept for finish(), or passed to the user.
enum class HelperErrors { kept, shown };

// The helper and its standard output. It inherits the environment; Ctrl-C in the terminal also ends it.
Result<std::pair<Helper, Fd>> start_helper(const std::vector<std::string>& argv,
                                           HelperErrors where = HelperErrors::kept);

// A pipe: its read end and its write end.
Result<std::pair<Fd, Fd>> make_pipe();

// A memory file for a child's standard error, and its last line.
Result<Fd> errors_file();
std::string last_line(const Fd& errors);

}  // namespace kw::process
