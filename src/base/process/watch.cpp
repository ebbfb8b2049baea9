#include "base/process/watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <string>
#include <thread>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/process/child.h"
#include "base/process/cpu_use.h"

namespace kw::process {

ExitWatch::ExitWatch(async::Loop& loop, Fd pidfd) : pidfd_(loop, pidfd.release()) {}

Result<ExitWatch> ExitWatch::of(async::Loop& loop, pid_t pid) {
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd)
    return fail(fmt::format("cannot watch process {}: {}", pid, errno_text(errno)),
                "Linux 5.3 or newer is needed");
  return ExitWatch(loop, std::move(pidfd));
}

void ExitWatch::kill(int signal) const {
  ::syscall(SYS_pidfd_send_signal, const_cast<boost::asio::posix::stream_descriptor&>(pidfd_).native_handle(),
            signal, nullptr, 0);
}

async::Task<boost::system::error_code> ExitWatch::ended() {
  boost::system::error_code error;
  co_await pidfd_.async_wait(pidfd_.wait_read,
                             boost::asio::redirect_error(boost::asio::use_awaitable, error));
  co_return error;
}

async::Task<int> ExitWatch::wait() {
  const boost::system::error_code error = co_await ended();
  siginfo_t info{};
  if (!error)
    ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.native_handle()), &info,
             WEXITED | WNOHANG);
  co_return info.si_status;
}

Result<> become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    return fail(fmt::format("cannot become a subreaper: {}", errno_text(errno)));
  return {};
}

void reap_orphans() {
  while (reap_any() > 0) {
  }
}

void await_children(std::chrono::milliseconds patience) {
  constexpr auto pause = std::chrono::milliseconds(5);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    const pid_t ended = reap_any();
    if (ended < 0 && errno != EINTR) return;
    if (ended == 0) std::this_thread::sleep_for(pause);
  }
}

namespace {

// "RssAnon:      1234 kB" in /proc/PID/status.
std::uint64_t field_bytes(const std::string& status, const char* name) {
  std::size_t at = status.find(name);
  if (at == std::string::npos) return 0;
  return std::strtoull(status.c_str() + at + std::string_view(name).size(), nullptr, 10) * 1024;
}

}  // namespace

std::uint64_t tree_memory_bytes(pid_t root) {
  std::uint64_t bytes = 0;
  for (pid_t pid : tree_of(root)) {
    auto status = read_file(fmt::format("/proc/{}/status", pid));
    if (status) bytes += field_bytes(*status, "RssAnon:") + field_bytes(*status, "RssShmem:");
  }
  return bytes;
}

}  // namespace kw::process
