#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "explain/words.h"
#include "refine/feedback_parts.h"

namespace kw::refine {
namespace {

constexpr std::size_t most_launches = 4;

// One kernel of a call, launched `times` times.
struct Line {
  const Launch* launch;
  std::size_t times = 1;
  double time_ms = 0;
};

std::vector<Line> lines_of(const std::vector<Launch>& launches) {
  std::vector<Line> lines;
  for (const Launch& launch : launches) {
    auto same = std::ranges::find(lines, launch.name, [](const Line& line) { return line.launch->name; });
    if (same == lines.end()) {
      lines.push_back({&launch, 1, launch.time_ms.value_or(0)});
      continue;
    }
    ++same->times;
    same->time_ms += launch.time_ms.value_or(0);
  }
  // The longest first; the order of the launches where that is not known.
  std::ranges::sort(lines, {}, [](const Line& line) { return std::pair(-line.time_ms, line.launch); });
  return lines;
}

std::string line_text(const Line& line) {
  const Launch& launch = *line.launch;
  std::string text =
      fmt::format("- {}, grid ({})", shorten(cleaned(launch.name), 60), fmt::join(launch.grid, ", "));
  if (line.times > 1) text += fmt::format(", {} times", line.times);
  if (line.time_ms > 0) text += fmt::format(", {:.4g} ms", line.time_ms);
  if (launch.registers) text += fmt::format(", {} registers", *launch.registers);
  if (launch.spills.value_or(0) > 0) text += fmt::format(", {} spilled", *launch.spills);
  if (launch.shared_bytes.value_or(0) > 0)
    text += fmt::format(", {} bytes of shared memory", *launch.shared_bytes);
  return text + "\n";
}

std::string launches_part(const Verdict& verdict) {
  if (!verdict.launches || verdict.launches->empty()) return {};
  std::string text = fmt::format("A call makes {} launch{}:\n", verdict.launches->size(),
                                 verdict.launches->size() == 1 ? "" : "es");
  std::vector<Line> lines = lines_of(*verdict.launches);
  double own_ms = 0;
  for (const Line& line : lines) own_ms += line.time_ms;
  for (std::size_t i = 0; i < std::min(lines.size(), most_launches); ++i) text += line_text(lines[i]);
  if (lines.size() > most_launches) text += fmt::format("- and {} more\n", lines.size() - most_launches);
  if (own_ms > 0 && verdict.kernel_time_ms && own_ms < 0.7 * *verdict.kernel_time_ms)
    text += fmt::format(
        "Together they take {:.4g} ms: the rest goes into PyTorch operations around them and the "
        "gaps between launches.\n",
        own_ms);
  return text;
}

std::string roofline_part(const Verdict& verdict) {
  if (!verdict.timing.roofline_share || *verdict.timing.roofline_share > 1) return {};
  double share = *verdict.timing.roofline_share;
  std::string text = fmt::format(
      "Moving inputs and outputs once at the memory's peak rate would take {:.0f}% of "
      "your time",
      100 * share);
  if (share >= 0.7) return text + ": hardly anything is left to gain there.\n";
  return text + ": the rest is repeated traffic, uncoalesced access, computing, or too few programs.\n";
}

std::string advice(const Verdict& verdict) {
  std::size_t launches = verdict.launches ? verdict.launches->size() : 0;
  bool spills = verdict.launches && std::ranges::any_of(*verdict.launches, [](const Launch& launch) {
                  return launch.spills.value_or(0) > 0;
                });
  std::string text;
  if (launches > 1) text += "Do in one kernel what now takes several. ";
  if (spills) text += "Smaller blocks or more warps avoid spilling. ";
  return text +
         "Let neighbouring lanes read neighbouring addresses, read each value once, and keep it right.\n";
}

std::string speed_part(const Verdict& verdict, const FeedbackContext& context) {
  std::string text = fmt::format(
      "It is right, but not fast enough: {:.3g}x the reference's speed, and at least {:.3g}x "
      "is wanted.\n",
      *verdict.speedup, context.target_speedup);
  if (verdict.reference_time_ms && verdict.kernel_time_ms)
    text += fmt::format("On the device the reference takes {:.4g} ms and yours {:.4g} ms{}.\n",
                        *verdict.reference_time_ms, *verdict.kernel_time_ms,
                        verdict.timing.instrument ? " (" + cleaned(*verdict.timing.instrument) + ")" : "");
  if (verdict.timing.call_speedup)
    text += fmt::format("Whole calls, with the host's part, run at {:.3g}x.\n", *verdict.timing.call_speedup);
  return text + launches_part(verdict) + roofline_part(verdict) + advice(verdict);
}

}  // namespace

std::string correct_part(const Verdict& verdict, const FeedbackContext& context) {
  if (verdict.counts == false)
    return fmt::format("{}\n", verdict.counts_reason ? explain::words_of(*verdict.counts_reason).told
                                                     : "The result is right, but it does not count.");
  if (verdict.speedup) return speed_part(verdict, context);
  return fmt::format("It is right. How fast it is could not be measured ({}); make it as fast as you can.\n",
                     shorten(cleaned(verdict.timing.why_null.value_or("no reason known")), 160)) +
         launches_part(verdict) + advice(verdict);
}

}  // namespace kw::refine
