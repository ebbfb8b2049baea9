#include "training/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>

#include "async/event.h"
#include "async/spawn.h"
#include "base/text.h"
#include "process/spawn.h"
#include "training/event_lines.h"

namespace kw::training {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

// What is still in the pipe when the child has ended is read by then, whoever holds its other end.
constexpr auto drain_time = 2s;

struct Started {
  pid_t pid;
  Fd pidfd;
  Fd events;
};

Result<Started> start(const ChildCommand& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("cannot make a pipe: {}", errno_text(errno)));
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  auto pid = process::spawn({command.arguments, command.environment, writing.get(), command.output});
  if (!pid) return std::unexpected(pid.error());
  // Nobody else reaps our child, so the number is its own until we do.
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (pidfd) return Started{*pid, std::move(pidfd), std::move(reading)};
  int error = errno;
  ::kill(*pid, SIGKILL);
  ::waitpid(*pid, nullptr, 0);
  return fail(fmt::format("cannot watch a process: {}", errno_text(error)), "Linux 5.3 or newer is needed");
}

class Run {
 public:
  Run(Started started, const ChildHooks& hooks)
      : hooks_(hooks),
        pid_(started.pid),
        pidfd_(loop_, started.pidfd.release()),
        events_(loop_, started.events.release()) {}

  Ending to_end() {
    heed_signals();
    async::spawn(loop_, read());
    async::spawn(loop_, wait());
    loop_.run();
    ending_.dropped_lines = lines_.dropped();
    ending_.rest = lines_.take_rest();
    return ending_;
  }

 private:
  void heed_signals() {
    signals_.async_wait([this](boost::system::error_code error, int signal) {
      if (error) return;
      bool again = ending_.interrupted;
      ending_.interrupted = true;
      if (again)
        ::kill(-pid_, SIGKILL);
      else
        ::kill(pid_, signal == SIGINT ? SIGINT : SIGTERM);
      hooks_.stopping(again);
      heed_signals();
    });
  }

  async::Task<> read() {
    std::string chunk(64 * 1024, '\0');
    while (true) {
      boost::system::error_code error;
      std::size_t n = co_await events_.async_read_some(asio::buffer(chunk),
                                                       asio::redirect_error(asio::use_awaitable, error));
      if (error) break;
      lines_.feed(std::string_view(chunk).substr(0, n), hooks_.line);
    }
    all_read_.set();
  }

  async::Task<> wait() {
    using namespace asio::experimental::awaitable_operators;
    boost::system::error_code ignored;
    co_await pidfd_.async_wait(pidfd_.wait_read, asio::redirect_error(asio::use_awaitable, ignored));
    // The group outlives its leader where a helper of the trainer hangs; before it is reaped, the number of
    // the group is nobody else's.
    ::kill(-pid_, SIGKILL);
    note_status();
    co_await (all_read_.wait() || async::sleep_until(async::Deadline::in(drain_time)));
    loop_.stop();
  }

  void note_status() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    ending_.by_signal = WIFSIGNALED(status);
    ending_.status = ending_.by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  }

  async::Loop loop_;
  const ChildHooks& hooks_;
  pid_t pid_;
  asio::posix::stream_descriptor pidfd_;
  asio::posix::stream_descriptor events_;
  asio::signal_set signals_{loop_, SIGINT, SIGTERM, SIGHUP};
  async::Event all_read_{loop_};
  EventLines lines_;
  Ending ending_;
};

}  // namespace

Result<Ending> run_child(const ChildCommand& command, const ChildHooks& hooks) {
  auto started = start(command);
  if (!started) return std::unexpected(started.error());
  return Run(std::move(*started), hooks).to_end();
}

}  // namespace kw::training
