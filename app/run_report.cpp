#include "run_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <utility>

#include "base/core/counted.h"
#include "base/core/display.h"
#include "base/core/text.h"
#include "loop/run_store/trace_files.h"
#include "output/results.h"

namespace kw::app {
namespace {

std::string turn_words(const Turn& turn) {
  if (!turn.verdict) return "not judged";
  std::string words = in_words(result_row(*turn.verdict, std::nullopt, Trust::in_process));
  if (turn.verdict->speedup) words += fmt::format(", {:.2f}x", *turn.verdict->speedup);
  return words;
}

std::string trace_words(const Trace& trace) {
  const Conversation* round = best_round(trace);
  if (round == nullptr) return "no answer";
  const Turn* best = best_turn(*round);
  std::string words = best ? turn_words(*best) : "no answer";
  if (round->stop_reason) words += fmt::format("; {}", to_string(*round->stop_reason));
  std::size_t turns = 0;
  for (const Conversation& each : trace.rounds) turns += each.turns.size();
  if (turns > 1) words += " after " + counted(turns, "turn");
  if (!round->error.empty()) words += fmt::format(" ({})", round->error);
  return words;
}

// "kernelbook_12", and "kernelbook_12~2" for its second sample.
std::string label(const Trace& trace) {
  std::string key = sample_key(trace.task);
  return trace.sample_number == 0 ? key : fmt::format("{}~{}", key, trace.sample_number + 1);
}

}  // namespace

RunReport::RunReport(const RunOutputFlags& flags, std::optional<std::size_t> total)
    : flags_(flags), progress_({stderr, is_terminal(STDERR_FILENO), flags.quiet}, total) {}

void RunReport::started() {
  progress_.wait_for("");
  start_ = async::SteadyClock::now();
}

Result<> RunReport::log_to(const std::filesystem::path& file) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  log_.open(file, std::ios::app);
  if (!log_) return fail(fmt::format("cannot write {}", file.string()));
  return {};
}

void RunReport::log(const std::string& line) {
  if (!log_.is_open()) return;
  log_ << utc_now() << ' ' << line << '\n' << std::flush;
}

void RunReport::say(const std::string& line) {
  log(line);
  progress_.say(line);
}

refine::Hooks RunReport::hooks(std::function<void(const Trace&, bool resumed)> after) {
  return {[this](const Trace& trace, const Turn& turn) { judged(trace, turn); },
          [this, after = std::move(after)](const Trace& trace, bool resumed) {
            ended(trace, resumed);
            after(trace, resumed);
          },
          [this](const RowError& error) {
            bad_tasks_ = true;
            say("error: " + describe(error));
          }};
}

void RunReport::judged(const Trace& trace, const Turn& turn) {
  std::string line = fmt::format("{}#{}: {}", label(trace), turn.turn, turn_words(turn));
  log(line);
  if (flags_.verbose) progress_.say("  " + line);
}

void RunReport::ended(const Trace& trace, bool resumed) {
  if (resumed) return progress_.skipped();
  std::string words = trace_words(trace);
  log(fmt::format("{}: {}", label(trace), words));
  progress_.done(label(trace), words, seconds());
}

void RunReport::summary(const store::Summary& summary) const {
  std::string failed = store::failed_path(flags_.output).string();
  std::string run = flags_.run_folder().string();
  if (!flags_.summary) return;
  if (flags_.json) {
    boost::json::object all = store::to_json(summary);
    all["traces_file"] = flags_.output;
    all["failed_file"] = failed;
    all["run"] = run;
    fmt::print("{}\n", boost::json::serialize(all));
  } else if (!flags_.quiet) {
    fmt::print("{}traces   {}\nfailed   {}\nrun      {}\nlook at  kernelwright report {}\n",
               store::in_words(summary), flags_.output, failed, run, run);
  }
}

}  // namespace kw::app
