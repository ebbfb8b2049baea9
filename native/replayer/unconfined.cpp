#include "unconfined.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/fd.h"
#include "channel.h"
#include "confine.h"

namespace kw::replayer {
namespace {

template <typename T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Fd pidfd_of(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void report(int status_fd) {
  kw_spawned spawned{};
  spawned.type = KW_SPAWNED;
  spawned.version = KW_CONFINE_VERSION;
  spawned.init_pid = ::getpid();
  Fd pidfd = pidfd_of(::getpid());
  int fd = pidfd.get();
  auto sent = send_packet(status_fd, bytes_of(spawned), {&fd, pidfd ? 1U : 0U});
  if (!sent) ::_exit(1);
}

void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

std::uint64_t us_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

// Until it has ended, or nobody listens any more.
void wait_for_either(pid_t runner, int status_fd) {
  Fd watched = pidfd_of(runner);
  pollfd polled[] = {{watched.get(), POLLIN, 0}, {status_fd, 0, 0}};  // POLLHUP comes unasked
  while (::poll(polled, 2, -1) < 0 && errno == EINTR) continue;
  if (polled[1].revents != 0) ::kill(runner, SIGKILL);
}

void tell_end(pid_t runner, int status_fd) {
  kw_exited exited{};
  rusage usage{};
  while (::wait4(runner, &exited.wait_status, 0, &usage) < 0 && errno == EINTR) continue;
  exited.type = KW_EXITED;
  exited.user_us = us_of(usage.ru_utime);
  exited.system_us = us_of(usage.ru_stime);
  exited.max_rss_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
  // Whoever is gone needs no answer.
  std::ignore = send_packet(status_fd, bytes_of(exited));
}

}  // namespace

void enter_unconfined(int status_fd, const std::string& folder) {
  if (::fork() != 0) ::_exit(0);
  report(status_fd);
  ::setsid();
  pid_t init = ::getpid();
  pid_t runner = ::fork();
  if (runner == 0) {
    die_with(init);
    return;
  }
  wait_for_either(runner, status_fd);
  tell_end(runner, status_fd);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  ::signal(SIGTERM, SIG_IGN);
  ::kill(0, SIGTERM);  // what it left behind
  ::_exit(0);
}

}  // namespace kw::replayer
