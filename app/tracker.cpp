#include "tracker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/core/json.h"
#include "base/core/text.h"
#include "session.h"

namespace kw::app {
namespace {

namespace json = boost::json;

constexpr int start_limit_s = 120;  // trackio imports for seconds
constexpr int end_limit_s = 60;
constexpr std::size_t most_pending_bytes = std::size_t{16} << 20;

double now_s() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

Tracker::Tracker(process::Child child, Fd errors, Fd input, Fd answers)
    : child_(std::move(child)),
      errors_(std::move(errors)),
      input_(std::move(input)),
      answers_(std::move(answers)) {}

Result<std::unique_ptr<Tracker>> Tracker::start(const Options& options) {
  if (!options.targets.any()) return nullptr;
  auto python = python_child(options.python);
  if (!python) return std::unexpected(python.error());
  std::array<int, 2> sockets{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return fail(fmt::format("cannot make a socket: {}", errno_text(errno)));
  Fd ours(sockets[0]);
  Fd input(sockets[1]);
  auto answers = process::make_pipe();
  if (!answers) return std::unexpected(answers.error());
  auto errors = process::errors_file();
  if (!errors) return std::unexpected(errors.error());
  process::Command command;
  command.arguments = {python->program, "-P", "-m", "kernelwright._reporting", "--name", options.name};
  if (!options.targets.tensorboard.empty())
    command.arguments.insert(command.arguments.end(), {"--tensorboard", options.targets.tensorboard});
  if (!options.targets.trackio.empty())
    command.arguments.insert(command.arguments.end(), {"--trackio", options.targets.trackio});
  command.environment = python->environment;
  command.input = input.get();
  command.output = answers->second.get();
  command.errors = errors->get();
  auto child = process::Child::start(command);
  if (!child) return fail(child.error().what, "give a Python with --python");
  std::unique_ptr<Tracker> tracker(
      new Tracker(std::move(*child), std::move(*errors), std::move(ours), std::move(answers->first)));
  answers->second.reset();
  if (auto ready = tracker->wait_ready(); !ready) return std::unexpected(ready.error());
  return tracker;
}

// Appends what the process answers; false after the time, or at its end.
bool Tracker::answer_within(int seconds, std::string& text) {
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (true) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd waited{answers_.get(), POLLIN, 0};
    int count = left.count() > 0 ? ::poll(&waited, 1, static_cast<int>(left.count())) : 0;
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    std::array<char, 256> bytes{};
    ssize_t n = ::read(answers_.get(), bytes.data(), bytes.size());
    if (n <= 0) {
      is_lost_ = true;  // its end
      return false;
    }
    text.append(bytes.data(), static_cast<std::size_t>(n));
    return true;
  }
}

Error Tracker::broken(const std::string& otherwise) {
  std::string why = to_plain_text(process::last_line(errors_));
  return {fmt::format("--report-to: {}", why.empty() ? otherwise : why),
          why.contains("pip install") ? "install it into that Python, or leave the target out" : ""};
}

Result<> Tracker::wait_ready() {
  std::string text;
  while (answer_within(start_limit_s, text))
    if (text.contains("ready\n")) return {};
  child_.kill_group(SIGKILL);
  child_.wait();
  return std::unexpected(broken("the process did not start"));
}

// Sends what is pending; false if the process has ended.
bool Tracker::send(bool waits) {
  while (!pending_.empty() && !is_lost_) {
    ssize_t n =
        ::send(input_.get(), pending_.data(), pending_.size(), MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && !waits && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n <= 0)
      is_lost_ = true;
    else
      pending_.erase(0, static_cast<std::size_t>(n));
  }
  return !is_lost_;
}

void Tracker::log(std::uint64_t step, const json::object& metrics) {
  if (is_lost_) return;
  if (pending_.size() > most_pending_bytes) {
    ++dropped_;
  } else {
    pending_ += json::serialize(json::object{{"step", step}, {"time", now_s()}, {"metrics", metrics}});
    pending_ += '\n';
  }
  send(false);
}

Result<> Tracker::finish() {
  timeval limit{.tv_sec = end_limit_s, .tv_usec = 0};
  ::setsockopt(input_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  bool sent = send(true);
  input_.reset();
  std::string text;
  while (answer_within(end_limit_s, text)) text.clear();
  // is_lost_ here: the end of its output, that is of the process.
  if (!is_lost_) child_.kill_group(SIGKILL);
  int status = child_.wait();
  if (!sent || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::unexpected(broken(fmt::format("the process did not end within {} s", end_limit_s)));
  if (dropped_ > 0)
    return fail(fmt::format("--report-to: {} steps were dropped: the target is too slow", dropped_));
  return {};
}

json::object figures_of(const training::Step& step) {
  return {{"train/loss", value_or_null(step.loss)},
          {"train/learning_rate", value_or_null(step.learning_rate)},
          {"train/gradient_norm", value_or_null(step.gradient_norm)},
          {"train/tokens_per_s", value_or_null(step.tokens_per_s)},
          {"train/memory_bytes", value_or_null(step.memory_bytes)},
          {"train/epoch", value_or_null(step.epoch)}};
}

json::object figures_of(const training::HeldOutLoss& measured) {
  return {{"train/validation_loss", value_or_null(measured.loss)}};
}

json::object RunFigures::add(const Trace& trace) {
  ++ended_;
  const Conversation* round = best_round(trace);
  const Turn* best = round ? best_turn(*round) : nullptr;
  bool counts = best && best->verdict && correct_and_counts(*best->verdict);
  correct_ += counts ? 1 : 0;
  for (const Conversation& each : trace.rounds)
    for (const Turn& turn : each.turns) {
      ++turns_;
      completion_tokens_ += turn.usage.completion_tokens.value_or(0);
    }
  auto share = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(ended_); };
  json::object figures{{"run/correct_share", share(correct_)},
                       {"run/turns_per_trace", share(turns_)},
                       {"run/completion_tokens", completion_tokens_}};
  if (counts && best->verdict->speedup) {
    ++measured_;
    fast_1_ += fast_1(*best->verdict).value_or(false) ? 1 : 0;
    figures["run/speedup"] = *best->verdict->speedup;
  }
  if (measured_ > 0) figures["run/fast_1_share"] = share(fast_1_);
  return figures;
}

}  // namespace kw::app
