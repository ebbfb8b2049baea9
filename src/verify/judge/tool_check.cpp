#include "verify/judge/tool_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "verify/workers/installation.h"

namespace kw::verify {
namespace {

// A tool's own start takes seconds, whatever the candidate's time limit is.
constexpr std::chrono::milliseconds least_limit{60'000};

// Each access of each thread is a record of its own.
constexpr const char* most_records = "100";
constexpr std::size_t most_findings_kept = 8;  // in the verdict

engine::Tool compute_sanitizer(const std::string& program, ReportOf tool) {
  return {
      .words = {program, "--tool", tool == ReportOf::memcheck ? "memcheck" : "racecheck", "--demangle", "no",
                "--show-backtrace", "no", "--report-api-errors", "no", "--print-limit", most_records},
      .readable = engine::paths_of_compute_sanitizer(program)};
}

// Why a step under the tool failed.
Outcome<std::string> tool_words_of(const ReplayFailure& trouble, std::chrono::milliseconds limit) {
  const auto& lost = trouble.refusal.lost;
  if (trouble.of == ReplayFailure::Of::replayer && lost && lost->why == engine::Lost::Why::deadline)
    return fmt::format("a replay takes over {} s under it", limit.count() / 1000);
  return words_of(trouble);
}

}  // namespace

std::set<std::string> kernels_of_libraries(const std::vector<EvidenceLaunch>& launches) {
  std::set<std::string> names;
  for (const EvidenceLaunch& each : launches)
    if (each.whose == "library") names.insert(each.name);
  // The candidate chooses the names of its kernels.
  for (const EvidenceLaunch& each : launches)
    if (each.whose != "library") names.erase(each.name);
  return names;
}

std::chrono::milliseconds ToolCheck::limit() const {
  return std::max(case_.settings.timeout, least_limit);
}

async::Task<Outcome<ToolReport>> ToolCheck::run(ReportOf tool) {
  const std::string& program = case_.context.compute_sanitizer;
  if (program.empty()) co_return ToolReport{.why_not = "compute-sanitizer is not installed"};
  if (recordings_.tapes.empty())
    co_return ToolReport{.why_not = "the candidate's calls are not replayed: " + recordings_.why_none};
  Player player(case_.context, oracle_.process(), oracle_.spec(), candidate_slot, case_.stop);
  auto started = co_await player.start_under(compute_sanitizer(program, tool), limit());
  if (case_.stop.requested()) co_return std::unexpected<Ended>(Stopped{});
  if (!started) co_return ToolReport{.why_not = started.error().what};
  auto why_not = co_await replay_all(player);
  auto report = co_await read(tool, player, std::move(why_not));
  co_await player.end();
  co_return report;
}

// Why the replays were not all made; empty: they were.
async::Task<Outcome<std::string>> ToolCheck::replay_all(Player& player) const {
  for (const auto& tape : recordings_.tapes)
    if (auto added = co_await player.add(tape); !added) co_return tool_words_of(added.error(), limit());
  for (std::uint32_t slot = 0; slot < recordings_.tapes.size(); ++slot) {
    wire::ReplayT how;
    how.slot = slot;
    auto played = co_await player.play_on(std::move(how), player.fresh_inputs(), limit());
    if (!played) co_return tool_words_of(played.error(), limit());
  }
  co_return std::string{};
}

// A fault breaks the replay that it is in, so what the tool found says more than the replay's own failure.
async::Task<Outcome<ToolReport>> ToolCheck::read(ReportOf tool, Player& player,
                                                 Outcome<std::string> why_not) const {
  if (!why_not) co_return std::unexpected(why_not.error());
  auto text = co_await player.conclude(limit());
  if (case_.stop.requested()) co_return std::unexpected<Ended>(Stopped{});
  if (!text)
    co_return ToolReport{.why_not = "compute-sanitizer: " + (why_not->empty() ? text.error() : *why_not)};
  ToolReport report = read_tool_report(tool, *text);
  const auto passed_over = std::erase_if(report.findings, [&](const ToolFinding& each) {
    return each.is_of_the_call || recordings_.libraries.contains(each.kernel);
  });
  // Device code chooses names, so a finding that is passed over is not the same as none.
  if (passed_over > 0 && report.findings.empty() && report.why_not.empty())
    report.why_not = "all that the tool found is in kernels of libraries or in memory of the call";
  report.findings.resize(std::min(report.findings.size(), most_findings_kept));
  if (report.why_not.empty()) report.why_not = std::move(*why_not);
  co_return report;
}

}  // namespace kw::verify
