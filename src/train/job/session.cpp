#include "train/job/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstring>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/core/text.h"
#include "base/process/child.h"
#include "base/process/watch.h"
#include "train/job/events.h"

namespace kw::training {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

// Limits reading from the pipe after the child's end, since another process may hold it open.
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

namespace {

constexpr std::size_t tail_bytes = 4096;
constexpr int tail_lines = 12;

// The last lines of the file after the offset `from`.
std::string last_words(const std::string& file, off_t from) {
  std::string text(tail_bytes, '\0');
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_size <= from) return {};
  off_t start = std::max(from, info.st_size - static_cast<off_t>(tail_bytes));
  ssize_t n = ::pread(fd.get(), text.data(), text.size(), start);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  std::string_view lines = trim(text);
  std::size_t begin = lines.size();
  for (int i = 0; i < tail_lines && begin != std::string_view::npos && begin > 0; ++i)
    begin = lines.rfind('\n', begin - 1);
  if (begin != std::string_view::npos && begin > 0) lines.remove_prefix(begin + 1);
  return to_plain_text(lines);
}

class Session {
 public:
  Session(const SessionOptions& options, const SessionHooks& hooks) : options_(options), hooks_(hooks) {}

  Result<Outcome> run() {
    struct stat info{};
    if (::fstat(options_.command.output, &info) == 0) output_before_ = info.st_size;
    ChildHooks child{[this](std::string_view line) { take(line); },
                     [this](bool again) {
                       hooks_.note(again ? "stopped at once"
                                         : "stopping after a checkpoint; a second signal stops at once");
                     }};
    auto ending = run_child(options_.command, child);
    if (!ending) return std::unexpected(ending.error());
    if (!ending->rest.empty()) take(ending->rest);
    rubbish_ += ending->dropped_lines;
    if (rubbish_ > 0) hooks_.note(fmt::format("{} output lines of the trainer are not events", rubbish_));
    return judge(*ending);
  }

 private:
  void take(std::string_view line) {
    auto told = parse_event(line);
    if (!told) {
      ++rubbish_;
      return;
    }
    if (const auto* problem = std::get_if<Problem>(&told->event)) {
      outcome_.error = problem->error;
      outcome_.usage = problem->usage;
    }
    if (const auto* done = std::get_if<Done>(&told->event)) outcome_.done = *done;
    if (const auto* warning = std::get_if<Warning>(&told->event)) outcome_.warnings.push_back(warning->text);
    if (const auto* estimate = std::get_if<Estimate>(&told->event))
      outcome_.fits = estimate->fits.value_or(true);
    keep(told->object);
    hooks_.told(*told);
  }

  void keep(const boost::json::object& event) {
    if (options_.log == nullptr) return;
    if (auto kept = options_.log->add(event); !kept) hooks_.note(kept.error().what);
  }

  Outcome judge(const Ending& ending) {
    bool well = !ending.by_signal && ending.status == 0 && !outcome_.error;
    // The trainer may have finished before a signal stopped it: this is a success.
    if (well && outcome_.done) return outcome_;
    bool asked_by_others = !ending.by_signal && (ending.status == 130 || ending.status == 143);
    outcome_.interrupted = ending.interrupted || (asked_by_others && !outcome_.error);
    if (!outcome_.interrupted && !outcome_.error) outcome_.error = unexplained(ending);
    return outcome_;
  }

  // The error for an end that the trainer did not explain.
  Error unexplained(const Ending& ending) const {
    std::string what = ending.by_signal     ? fmt::format("signal {} ({}) ended the trainer", ending.status,
                                                          ::strsignal(ending.status))
                       : ending.status == 0 ? std::string("the trainer exited before it reported its result")
                                            : fmt::format("the trainer exited with status {}", ending.status);
    std::string words = last_words(options_.output_name, output_before_);
    if (!words.empty()) what += fmt::format("; its last output:\n{}", words);
    if (ending.by_signal && ending.status == SIGKILL)
      return {what,
              "the host probably ran out of memory: reduce data.max_length or training.micro_batch, or use a "
              "larger machine; --resume continues from the last checkpoint"};
    return {what, fmt::format("{} contains its complete output", options_.output_name)};
  }

  const SessionOptions& options_;
  const SessionHooks& hooks_;
  Outcome outcome_;
  off_t output_before_ = 0;
  std::uint64_t rubbish_ = 0;
};

}  // namespace

Result<Outcome> run_session(const SessionOptions& options, const SessionHooks& hooks) {
  return Session(options, hooks).run();
}

}  // namespace kw::training
