#include "train_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdio>

#include "base/core/display.h"

namespace kw::app {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t bar_width = 24;
constexpr auto pause_on_terminal = 100ms;
constexpr auto pause_elsewhere = 10s;

// 1234567 → "1,234,567"
std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string clock_words(double seconds) {
  auto whole = static_cast<long>(std::ceil(std::clamp(seconds, 0.0, 3.6e8)));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string bar(std::uint64_t done, std::uint64_t total) {
  double share = total == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  auto filled = static_cast<std::size_t>(share * static_cast<double>(bar_width));
  return fmt::format("[{:#<{}}{:-<{}}]", "", filled, "", bar_width - filled);
}

std::string counted(const char* verb, const training::Counts& counts) {
  std::string text;
  for (const auto& [reason, count] : counts)
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), reason);
  return text.empty() ? text : fmt::format("           {}: {}\n", verb, text);
}

// "weights_bytes" → "weights"
std::string part_name(std::string name) {
  if (name.ends_with("_bytes")) name.resize(name.size() - 6);
  std::ranges::replace(name, '_', ' ');
  return name;
}

}  // namespace

std::string in_gib(double bytes) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  return bytes < gib / 10 ? fmt::format("{:.1f} MiB", bytes / gib * 1024)
                          : fmt::format("{:.1f} GiB", bytes / gib);
}

std::string in_words(const training::DataFacts& facts) {
  std::string text =
      fmt::format("rows       {}, of which {} are used\n", grouped(facts.rows), grouped(facts.used));
  text += counted("dropped", facts.dropped) + counted("cut", facts.cut);
  text += fmt::format("tokens     {}, of which {} are learnt", grouped(facts.tokens),
                      grouped(facts.learnt_tokens));
  if (facts.tokens_cut + facts.tokens_dropped > 0)
    text += fmt::format("; besides, {} were cut and {} dropped", grouped(facts.tokens_cut),
                        grouped(facts.tokens_dropped));
  text += '\n';
  text += fmt::format("sequences  {}", grouped(facts.sequences));
  if (facts.share_filled) text += fmt::format(", {:.1f}% filled", *facts.share_filled * 100);
  return text + fmt::format("\nsteps      {}\n", grouped(facts.steps));
}

std::string in_words(const training::ValidationFacts& facts) {
  return fmt::format("validation {} rows, of which {} are used\n", grouped(facts.rows), grouped(facts.used)) +
         counted("dropped", facts.dropped);
}

std::string in_words(const training::HeldOutLoss& measured) {
  std::string text = fmt::format("held-out loss {} at step {}",
                                 measured.loss ? fmt::format("{:.4f}", *measured.loss) : "is no number",
                                 grouped(measured.step));
  if (measured.step == 0) return text + ", the base model";
  if (measured.best_step == measured.step) return text + ", the best";
  return measured.best_step ? text + fmt::format("; the best was step {}", grouped(*measured.best_step))
                            : text;
}

std::string in_words(const training::Warning& warning, const Style& style) {
  std::string text = style.paint("warning: " + warning.text.what, Colour::red);
  return warning.text.remedy.empty() ? text : text + "\n  -> " + warning.text.remedy;
}

std::string in_words(const training::Estimate& estimate) {
  std::string text = fmt::format("memory     about {}", in_gib(static_cast<double>(estimate.total_bytes)));
  if (estimate.limit_bytes) text += fmt::format(" of {}", in_gib(static_cast<double>(*estimate.limit_bytes)));
  if (estimate.fits) text += *estimate.fits ? ": fits" : ": does not fit";
  std::string parts;
  for (const auto& [name, bytes] : estimate.parts)
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", part_name(name),
                         in_gib(static_cast<double>(bytes)));
  return text + (parts.empty() ? "\n" : fmt::format("\n           {}\n", parts));
}

std::string in_words(const training::Step& step) {
  std::string text = fmt::format("{} {:>{}}/{}", bar(step.step, step.of), step.step,
                                 fmt::formatted_size("{}", step.of), step.of);
  text += step.loss ? fmt::format("  loss {:.4f}", *step.loss) : "  loss is no number";
  if (step.tokens_per_s)
    text += fmt::format("  {} tokens/s",
                        grouped(static_cast<std::uint64_t>(std::clamp(*step.tokens_per_s, 0.0, 1e15))));
  if (step.memory_bytes) text += "  " + in_gib(*step.memory_bytes);
  if (step.remaining_s && step.step < step.of)
    text += fmt::format("  {} left", clock_words(*step.remaining_s));
  return text;
}

void TrainView::told(const training::Told& told) {
  if (options_.json) {
    fmt::print("{}\n", boost::json::serialize(told.object));
    std::fflush(stdout);
  }
  if (const auto* warning = std::get_if<training::Warning>(&told.event)) {
    finish();
    fmt::print(stderr, "{}\n", for_log(in_words(*warning, style_of(STDERR_FILENO))));
  }
  if (!options_.quiet) show(told.event);
}

void TrainView::show(const training::Event& event) {
  // The result of a dry run goes to standard output.
  std::FILE* out = options_.dry_run ? stdout : stderr;
  bool facts_shown = !(options_.json && options_.dry_run);
  if (const auto* data = std::get_if<training::DataFacts>(&event); data != nullptr && facts_shown) {
    finish();
    fmt::print(out, "{}", in_words(*data));
  } else if (const auto* estimate = std::get_if<training::Estimate>(&event);
             estimate != nullptr && facts_shown) {
    finish();
    fmt::print(out, "{}", in_words(*estimate));
  } else if (const auto* held_out = std::get_if<training::ValidationFacts>(&event);
             held_out != nullptr && facts_shown) {
    finish();
    fmt::print(out, "{}", in_words(*held_out));
  } else if (const auto* measured = std::get_if<training::HeldOutLoss>(&event)) {
    say(in_words(*measured));
  } else if (const auto* now = std::get_if<training::Step>(&event)) {
    step(*now);
  } else if (const auto* checkpoint = std::get_if<training::Checkpoint>(&event)) {
    say(fmt::format("checkpoint {}", checkpoint->path));
  } else if (const auto* notice = std::get_if<training::Notice>(&event)) {
    say("note: " + notice->what);
  }
}

void TrainView::step(const training::Step& step) {
  auto now = std::chrono::steady_clock::now();
  bool due =
      now - last_ >= (options_.terminal ? std::chrono::milliseconds(pause_on_terminal) : pause_elsewhere);
  if (!due && step.step < step.of) return;
  last_ = now;
  if (!options_.terminal) return say(in_words(step));
  fmt::print(stderr, "\r\x1b[K{}", in_words(step));
  std::fflush(stderr);
  drawn_ = true;
}

void TrainView::say(const std::string& line) {
  if (options_.quiet) return;
  finish();
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

void TrainView::finish() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace kw::app
