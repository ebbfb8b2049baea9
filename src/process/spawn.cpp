#include "process/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>

#include "base/text.h"

namespace kw::process {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

Result<pid_t> spawn(const Command& command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (command.output >= 0) {
    posix_spawn_file_actions_adddup2(&actions, command.output, 1);
    posix_spawn_file_actions_adddup2(&actions, command.output, 2);
  } else {
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  }
  if (command.inherited >= 0) posix_spawn_file_actions_adddup2(&actions, command.inherited, 3);

  // A group of its own: Ctrl-C in the terminal is for us, and we end our children in order.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);

  pid_t pid = -1;
  auto arguments = pointers(command.arguments);
  auto environment = pointers(command.environment);
  int error = ::posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(fmt::format("cannot start {}: {}", command.arguments[0], errno_text(error)));
  return pid;
}

}  // namespace kw::process
