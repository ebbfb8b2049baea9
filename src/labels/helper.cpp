#include "labels/helper.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

Helper::~Helper() {
  child_.reset();
  if (feeder_.joinable()) feeder_.join();
}

Result<Helper> Helper::start(const CompileOptions& options) {
  std::array<int, 2> sockets{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return fail(fmt::format("cannot make a socket: {}", errno_text(errno)));
  Helper helper;
  helper.jobs_ = Fd(sockets[0]);
  Fd input(sockets[1]);
  auto output = process::make_pipe();
  if (!output) return std::unexpected(output.error());
  auto errors = process::errors_file();
  if (!errors) return std::unexpected(errors.error());
  auto child = process::Child::start({.arguments = arguments_of(options),
                                      .environment = environment_of(options),
                                      .input = input.get(),
                                      .output = output->second.get(),
                                      .errors = errors->get()});
  if (!child) return fail(child.error().what, "name a python that has torch and triton with --python");
  helper.child_.emplace(std::move(*child));
  helper.replies_ = std::move(output->first);
  helper.errors_ = std::move(*errors);
  input.reset();
  output->second.reset();

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
  std::string line = process::last_line(errors_);
  return line.empty() ? "it ended without a word" : to_plain_text(line);
}

}  // namespace kw::labels
