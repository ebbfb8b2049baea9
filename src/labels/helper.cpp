#include "labels/helper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/text.h"
#include "schema/json.h"

namespace kw::labels {
namespace {

constexpr int poll_ms = 100;
constexpr std::size_t longest_line = std::size_t{1} << 20;

std::vector<std::string> arguments_of(const CompileOptions& options) {
  std::vector<std::string> argv{options.python,
                                "-W",
                                "ignore",
                                "-m",
                                "kernelwright.dataset.label_server",
                                "--jobs",
                                fmt::format("{}", std::max(1U, options.jobs)),
                                "--seconds",
                                fmt::format("{}", std::max(1U, options.longest_s)),
                                "--targets",
                                fmt::format("{}", fmt::join(options.targets, ","))};
  if (!options.nvcc.empty()) argv.insert(argv.end(), {"--nvcc", options.nvcc});
  if (options.allow_unsandboxed) argv.emplace_back("--unconfined");
  return argv;
}

// By name, so that no secret of ours reaches code of others.
std::vector<std::string> environment_of(const CompileOptions& options) {
  std::vector<std::string> result{fmt::format("PYTHONPATH={}", fmt::join(options.python_path, ":")),
                                  "KERNELWRIGHT_NATIVE=" + options.native, "PYTHONDONTWRITEBYTECODE=1",
                                  "PYTHONHASHSEED=0", "HOME=/tmp", "LC_ALL=C.UTF-8",
                                  // Larger pages make the fork of a large process cheaper.
                                  "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "TZ"})
    if (const char* value = std::getenv(name)) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

struct Ends {
  Fd input;
  Fd output;
  Fd errors;
};

Result<pid_t> spawn(const CompileOptions& options, const Ends& theirs) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.input.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.output.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, theirs.errors.get(), 2);
  // A group of its own: Ctrl-C in the terminal is for us.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<std::string> arguments = arguments_of(options);
  std::vector<std::string> environment = environment_of(options);
  pid_t pid = -1;
  int error = ::posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes, pointers(arguments).data(),
                             pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return fail(fmt::format("cannot start {}: {}", arguments[0], errno_text(error)),
                "name a python that has torch and triton with --python");
  return pid;
}

// MSG_NOSIGNAL: a helper that is gone is an error to report, not our end.
bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

Helper::Helper(Helper&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      jobs_(std::move(other.jobs_)),
      replies_(std::move(other.replies_)),
      errors_(std::move(other.errors_)),
      triton_(std::move(other.triton_)),
      buffer_(std::move(other.buffer_)),
      searched_(other.searched_),
      feeder_(std::move(other.feeder_)) {}

Helper::~Helper() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (feeder_.joinable()) feeder_.join();
}

Result<Helper> Helper::start(const CompileOptions& options) {
  std::array<int, 2> sockets{-1, -1};
  std::array<int, 2> pipe{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return fail(fmt::format("cannot make a socket: {}", errno_text(errno)));
  Helper helper;
  Ends theirs;
  helper.jobs_ = Fd(sockets[0]);
  theirs.input = Fd(sockets[1]);
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return fail(fmt::format("cannot make a pipe: {}", errno_text(errno)));
  helper.replies_ = Fd(pipe[0]);
  theirs.output = Fd(pipe[1]);
  helper.errors_ = Fd(::memfd_create("label-errors", MFD_CLOEXEC));
  auto errors = helper.errors_.duplicate();
  if (!errors) return std::unexpected(errors.error());
  theirs.errors = std::move(*errors);
  auto pid = spawn(options, theirs);
  if (!pid) return std::unexpected(pid.error());
  helper.pid_ = *pid;
  theirs = {};

  auto ready = helper.line(options.stop);
  if (!ready) return std::unexpected(ready.error());
  auto value = *ready ? parse_json(**ready) : Result<boost::json::value>(fail("it ended"));
  if (!value || !value->is_object())
    return fail(fmt::format("kernels cannot be compiled: {}", helper.last_error()),
                "install torch and triton (python/requirements.txt), or name a python that has them");
  if (auto error = string_at(value->as_object(), "error"))
    return fail(fmt::format("kernels cannot be confined: {}", *error),
                "run `make build`, or accept --allow-unsandboxed");
  helper.triton_ = string_at(value->as_object(), "triton").value_or("");
  return helper;
}

void Helper::feed(std::function<std::optional<std::string>()> next) {
  feeder_ = std::thread([socket = jobs_.get(), next = std::move(next)] {
    while (auto text = next())
      if (!send_all(socket, *text + "\n")) return;
    ::shutdown(socket, SHUT_WR);
  });
}

Result<std::optional<std::string>> Helper::line(const std::function<bool()>& stop) {
  while (true) {
    std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string text = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return text;
    }
    searched_ = buffer_.size();
    if (searched_ > longest_line) return fail("the process that compiles kernels wrote an endless line");
    if (stop && stop()) return fail("stopped");
    pollfd polled{replies_.get(), POLLIN, 0};
    if (::poll(&polled, 1, poll_ms) <= 0) continue;
    std::array<char, 65536> bytes;
    ssize_t got = ::read(replies_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::optional<std::string>();
    buffer_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::string Helper::last_error() const {
  auto bytes = read_memory_file(errors_, std::size_t{64} << 20);
  if (!bytes) return "it wrote too much";
  std::string_view text = trim(*bytes);
  return text.empty() ? "it ended without a word" : to_plain_text(text.substr(text.rfind('\n') + 1));
}

}  // namespace kw::labels
