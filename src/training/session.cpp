#include "training/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/text.h"

namespace kw::training {
namespace {

constexpr std::size_t tail_bytes = 4096;
constexpr int tail_lines = 12;

// What the child wrote since `from`, its last lines.
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
                       hooks_.note(again
                                       ? "stopped at once"
                                       : "stopping: what was learnt is being saved; once more stops at once");
                     }};
    auto ending = run_child(options_.command, child);
    if (!ending) return std::unexpected(ending.error());
    if (!ending->rest.empty()) take(ending->rest);
    rubbish_ += ending->dropped_lines;
    if (rubbish_ > 0) hooks_.note(fmt::format("{} lines that the trainer wrote are no events", rubbish_));
    return judge(*ending);
  }

 private:
  void take(std::string_view line) {
    auto told = parse_event(line);
    if (!told) {
      ++rubbish_;
      return;
    }
    if (const auto* problem = std::get_if<Problem>(&told->event)) outcome_.error = problem->error;
    if (const auto* done = std::get_if<Done>(&told->event)) outcome_.done = *done;
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
    // It may have come to its end just before it could be stopped.
    if (well && outcome_.done) return outcome_;
    bool asked_by_others = !ending.by_signal && (ending.status == 130 || ending.status == 143);
    outcome_.interrupted = ending.interrupted || (asked_by_others && !outcome_.error);
    if (!outcome_.interrupted && !outcome_.error) outcome_.error = unexplained(ending);
    return outcome_;
  }

  // It ended without a word about why.
  Error unexplained(const Ending& ending) const {
    std::string what = ending.by_signal     ? fmt::format("the trainer was ended by signal {} ({})",
                                                          ending.status, ::strsignal(ending.status))
                       : ending.status == 0 ? std::string("the trainer ended without saying that it is done")
                                            : fmt::format("the trainer ended with status {}", ending.status);
    std::string words = last_words(options_.output_name, output_before_);
    if (!words.empty()) what += fmt::format("; its last words:\n{}", words);
    if (ending.by_signal && ending.status == SIGKILL)
      return {what,
              "mostly the host ran out of memory: smaller data.max_length or training.micro_batch, or a "
              "larger machine; --resume goes on from the last checkpoint"};
    return {what, fmt::format("{} has all that it wrote", options_.output_name)};
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
