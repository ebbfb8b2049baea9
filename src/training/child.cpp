#include "training/child.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>

#include "async/event.h"
#include "async/spawn.h"
#include "async/within.h"
#include "process/exit_watch.h"
#include "process/helper.h"
#include "training/event_lines.h"

namespace kw::training {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

// What is still in the pipe when the child has ended is read by then, whoever holds its other end.
constexpr auto drain_time = 2s;

class Run {
 public:
  Run(process::Child& child, Fd events, const ChildHooks& hooks)
      : hooks_(hooks), child_(child), events_(loop_, events.release()) {}

  Result<Ending> to_end() {
    auto watch = process::ExitWatch::of(loop_, child_.pid());
    if (!watch) return std::unexpected(watch.error());
    heed_signals();
    async::spawn(loop_, read());
    async::spawn(loop_, wait(&*watch));
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
        child_.kill_group(SIGKILL);
      else
        child_.kill(signal == SIGINT ? SIGINT : SIGTERM);
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

  async::Task<> wait(process::ExitWatch* watch) {
    co_await watch->ended();
    child_.kill_group(SIGKILL);
    note(child_.wait());
    co_await async::within(async::Deadline::in(drain_time), nullptr, all_read_.wait());
    loop_.stop();
  }

  void note(int status) {
    ending_.by_signal = WIFSIGNALED(status);
    ending_.status = ending_.by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  }

  async::Loop loop_;
  const ChildHooks& hooks_;
  process::Child& child_;
  asio::posix::stream_descriptor events_;
  asio::signal_set signals_{loop_, SIGINT, SIGTERM, SIGHUP};
  async::Event all_read_{loop_};
  EventLines lines_;
  Ending ending_;
};

}  // namespace

Result<Ending> run_child(process::Command command, const ChildHooks& hooks) {
  auto pipe = process::make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  ::fcntl(pipe->first.get(), F_SETFL, O_NONBLOCK);
  command.inherited = pipe->second.get();
  auto child = process::Child::start(command);
  if (!child) return std::unexpected(child.error());
  pipe->second.reset();
  return Run(*child, std::move(pipe->first), hooks).to_end();
}

}  // namespace kw::training
