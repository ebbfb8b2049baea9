#include "output/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/core/display.h"

namespace kw {
namespace {

constexpr std::size_t bar_width = 24;

// A wait that began just after a tick is due at the next one.
constexpr std::chrono::duration<double> shortest_said{0.9};

std::string bar(std::size_t done, std::size_t total) {
  std::size_t filled = total == 0 ? bar_width : std::min(done, total) * bar_width / total;
  return fmt::format("[{:#<{}}{:-<{}}]", "", filled, "", bar_width - filled);
}

std::string clock_words(double seconds) {
  auto whole = static_cast<long>(std::ceil(std::min(seconds, 3.6e8)));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_bar(std::size_t done, std::optional<std::size_t> total, std::size_t skipped,
                         double seconds) {
  std::string text =
      total ? fmt::format("{} {:>{}}/{}", bar(done, *total), done, fmt::formatted_size("{}", *total), *total)
            : fmt::format("{} done", done);
  std::size_t judged = done - std::min(done, skipped);
  if (judged == 0 || seconds <= 0) return text;
  double rate = static_cast<double>(judged) / seconds;
  text += fmt::format("  {:.{}f}/min", rate * 60, rate * 60 < 10 ? 1 : 0);
  if (total && *total > done)
    text += fmt::format("  {} left", clock_words(static_cast<double>(*total - done) / rate));
  return text;
}

void Progress::done(std::string_view id, std::string_view words, double seconds) {
  ++done_;
  if (options_.quiet) return;
  if (options_.terminal) return tick(seconds);
  if (total_)
    fmt::print(options_.out, "{}/{} {}: {}\n", done_, *total_, for_log(visible_line(id)), words);
  else
    fmt::print(options_.out, "{} {}: {}\n", done_, for_log(visible_line(id)), words);
  std::fflush(options_.out);
}

void Progress::say(std::string_view line) {
  clear();
  fmt::print(options_.out, "{}\n", for_log(std::string(line)));
  std::fflush(options_.out);
}

void Progress::wait_for(std::string name) {
  clear();
  waits_for_ = std::move(name);
  wait_began_ = std::chrono::steady_clock::now();
  wait_is_said_ = false;
}

void Progress::show_wait() {
  std::chrono::duration<double> waited = std::chrono::steady_clock::now() - wait_began_;
  if (waited < shortest_said || (wait_is_said_ && !options_.terminal)) return;
  wait_is_said_ = true;
  drawn_ = options_.terminal;
  if (drawn_)
    fmt::print(options_.out, "\r\x1b[K{}: {:.0f} s", waits_for_, waited.count());
  else
    fmt::print(options_.out, "{}\n", waits_for_);
  std::fflush(options_.out);
}

void Progress::tick(double seconds) {
  if (!options_.quiet && !waits_for_.empty()) return show_wait();
  if (options_.quiet || !options_.terminal) return;
  fmt::print(options_.out, "\r\x1b[K{}", progress_bar(done_, total_, skipped_, seconds));
  std::fflush(options_.out);
  drawn_ = true;
}

void Progress::finish() {
  waits_for_.clear();
  clear();
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(options_.out, "\r\x1b[K");
  std::fflush(options_.out);
  drawn_ = false;
}

}  // namespace kw
