// Starts a program of our own with an argument vector, never through a shell.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"

namespace kw::process {

struct Command {
  std::vector<std::string> arguments;    // [0] is the program's path
  std::vector<std::string> environment;  // NAME=value, the whole of it
  int inherited = -1;                    // becomes descriptor 3 in the child
  int output = -1;                       // becomes 1 and 2; -1: /dev/null
};

Result<pid_t> spawn(const Command& command);

}  // namespace kw::process
