#include "table/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/text.h"

namespace kw {

Child::~Child() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<> Child::finish() {
  if (pid_ < 0) return {};
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string why = last_error();
  if (!why.empty()) return fail(why);
  if (WIFSIGNALED(status)) return fail(fmt::format("the helper was ended by signal {}", WTERMSIG(status)));
  return fail(fmt::format("the helper ended with status {}", WEXITSTATUS(status)));
}

std::string Child::last_error() const {
  auto bytes = read_memory_file(errors_, std::size_t{64} << 20);
  if (!bytes) return {};
  std::string_view text = trim(*bytes);
  return to_utf8(text.substr(text.rfind('\n') + 1));
}

Result<std::pair<Child, Fd>> start_child(const std::vector<std::string>& argv, ChildErrors where) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("cannot make a pipe: {}", errno_text(errno)));
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  Fd errors(::memfd_create("helper-errors", MFD_CLOEXEC));
  if (!errors) return fail(fmt::format("cannot create a memory file: {}", errno_text(errno)));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), 1);
  if (where == ChildErrors::kept) posix_spawn_file_actions_adddup2(&actions, errors.get(), 2);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = -1;
  int error = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return fail(fmt::format("cannot start {}: {}", argv.front(), errno_text(error)),
                "give a Python with --python");
  return std::pair(Child(pid, std::move(errors)), std::move(reading));
}

}  // namespace kw
