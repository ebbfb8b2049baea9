#include "base/process/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <mutex>

#include "base/core/text.h"

namespace kw::process {
namespace {

// Every Child that was not waited for, with its status if reap_any() has reaped it.
struct Register {
  std::mutex mutex;
  std::map<pid_t, std::optional<int>> children;
};

Register& known() {
  static Register all;
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

class Actions {
 public:
  explicit Actions(const Command& command) {
    posix_spawn_file_actions_init(&actions_);
    put(command.input, 0, O_RDONLY);
    put(command.output, 1, O_WRONLY);
    posix_spawn_file_actions_adddup2(&actions_, command.errors >= 0 ? command.errors : 1, 2);
    if (command.inherited >= 0) posix_spawn_file_actions_adddup2(&actions_, command.inherited, 3);
  }
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void put(int descriptor, int at, int mode) {
    if (descriptor >= 0)
      posix_spawn_file_actions_adddup2(&actions_, descriptor, at);
    else
      posix_spawn_file_actions_addopen(&actions_, at, "/dev/null", mode, 0);
  }

  posix_spawn_file_actions_t actions_;
};

}  // namespace

Result<Child> Child::start(const Command& command) {
  const Actions actions(command);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (command.own_group) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  auto arguments = pointers(command.arguments);
  auto environment = command.environment ? pointers(*command.environment) : std::vector<char*>();

  pid_t pid = -1;
  const std::lock_guard lock(known().mutex);  // reap_any() cannot reap it before it is registered
  int error = ::posix_spawnp(&pid, arguments[0], actions.get(), &attributes, arguments.data(),
                             command.environment ? environment.data() : environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(fmt::format("cannot start {}: {}", command.arguments[0], errno_text(error)));
  known().children.insert_or_assign(pid, std::nullopt);
  return Child(pid, command.own_group);
}

Child::~Child() {
  if (pid_ < 0) return;
  kill(SIGKILL);
  if (own_group_) kill_group(SIGKILL);
  wait();
}

void Child::kill(int signal) const {
  const std::lock_guard lock(known().mutex);
  auto entry = known().children.find(pid_);
  if (entry != known().children.end() && !entry->second) ::kill(pid_, signal);
}

void Child::kill_group(int signal) const {
  const std::lock_guard lock(known().mutex);
  auto entry = known().children.find(pid_);
  if (entry != known().children.end() && !entry->second) ::kill(-pid_, signal);
}

int Child::wait() {
  {
    // After reap_any() has reaped it, its number may belong to another process.
    const std::lock_guard lock(known().mutex);
    auto entry = known().children.find(pid_);
    if (entry != known().children.end() && entry->second) {
      const int status = *entry->second;
      known().children.erase(entry);
      pid_ = -1;
      return status;
    }
  }
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock(known().mutex);
  auto entry = known().children.extract(pid_);
  const pid_t pid = std::exchange(pid_, -1);
  if (!entry.empty() && entry.mapped()) return *entry.mapped();
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

void Child::release() {
  const std::lock_guard lock(known().mutex);
  known().children.erase(std::exchange(pid_, -1));
}

pid_t reap_any() {
  const std::lock_guard lock(known().mutex);
  int status = 0;
  const pid_t pid = ::waitpid(-1, &status, WNOHANG);
  // The first status is the Child's; a later one is of another process with the same number.
  if (auto entry = known().children.find(pid); entry != known().children.end() && !entry->second)
    entry->second = status;
  return pid;
}

Result<> Helper::finish() {
  if (child_.pid() < 0) return {};
  const int status = child_.wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string why = to_utf8(last_line(errors_));
  if (!why.empty()) return fail(why);
  if (WIFSIGNALED(status)) return fail(fmt::format("the helper was ended by signal {}", WTERMSIG(status)));
  return fail(fmt::format("the helper ended with status {}, without a word", WEXITSTATUS(status)),
              "`kernelwright doctor` checks this Python; --python names another");
}

Result<std::pair<Fd, Fd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("cannot make a pipe: {}", errno_text(errno)));
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

Result<Fd> errors_file() {
  Fd errors(::memfd_create("helper-errors", MFD_CLOEXEC));
  if (!errors) return fail(fmt::format("cannot create a memory file: {}", errno_text(errno)));
  return errors;
}

std::string last_line(const Fd& errors) {
  auto bytes = read_memory_file(errors, std::size_t{64} << 20);
  if (!bytes) return {};
  std::string_view text = trim(*bytes);
  return std::string(text.substr(text.rfind('\n') + 1));
}

Result<std::pair<Helper, Fd>> start_helper(const std::vector<std::string>& argv, HelperErrors where) {
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  auto errors = errors_file();
  if (!errors) return std::unexpected(errors.error());
  auto child = Child::start({.arguments = argv,
                             .output = pipe->second.get(),
                             .errors = where == HelperErrors::kept ? errors->get() : STDERR_FILENO,
                             .own_group = false});
  if (!child) return fail(child.error().what, "give a Python with --python");
  return std::pair(Helper(std::move(*child), std::move(*errors)), std::move(pipe->first));
}

}  // namespace kw::process
