#include "loop/refine/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/core/display.h"
#include "base/core/text.h"
#include "loop/refine/prompt.h"
#include "verify/explain/explanation.h"
#include "verify/explain/words.h"

namespace kw::refine {
namespace {

bool in_path(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == '+' ||
         c == '/';
}

std::string closing(const FeedbackContext& context) {
  return fmt::format(
      "{}Send the whole module again, corrected, with `{}`, between <triton> and </triton>.\n",
      context.cut_short ? "The answer ended at its length limit: be brief before the code. " : "",
      entry_name(context.style));
}

}  // namespace

std::string cleaned(std::string_view text) {
  std::string plain = to_plain_text(text);
  std::string result;
  std::size_t at = 0;
  while (at < plain.size()) {
    bool starts = plain[at] == '/' && (at == 0 || !in_path(plain[at - 1]));
    std::size_t end = at;
    while (starts && end < plain.size() && in_path(plain[end])) ++end;
    std::string_view path = std::string_view(plain).substr(at, end - at);
    // "/" and "//" are operators, "/a/b" is a path.
    if (std::ranges::count(path, '/') >= 2 && path.find_first_not_of('/') == 1) {
      result += path.substr(path.rfind('/') + 1);
      at = end;
    } else {
      result += plain[at++];
    }
  }
  return result;
}

std::string build_feedback(const Verdict& verdict, std::string_view code, const FeedbackContext& context) {
  std::string body = verdict.status == Status::correct ? correct_part(verdict, context)
                                                       : failure_part(verdict, code, context);
  std::string end = closing(context);
  if (body.size() + end.size() + 1 > feedback_limit)
    body = shorten(body, feedback_limit - end.size() - 40) + "\n";
  return body + "\n" + end;
}

namespace {

using explain::Excerpt;
using explain::Explanation;
using explain::Hint;

constexpr std::size_t longest_error = 450;
constexpr std::size_t longest_compiler_text = 500;
constexpr std::size_t longest_excerpt_line = 100;
constexpr std::size_t longest_finding = 220;
constexpr std::size_t most_findings = 3;

std::string excerpt_text(const Excerpt& excerpt) {
  std::string text;
  for (const explain::SourceLine& line : excerpt.lines)
    text += explain::gutter(excerpt, line) + to_plain_text(shorten(line.text, longest_excerpt_line)) + "\n";
  return text;
}

std::string findings_of(const Explanation& it) {
  std::string text;
  for (std::size_t i = 0; i < std::min(it.findings.size(), most_findings); ++i)
    text += fmt::format("Note: {}\n", shorten(cleaned(it.findings[i]), longest_finding));
  return text;
}

std::string hint_text(const Hint& hint) {
  std::string place = hint.line == 0 ? "" : fmt::format("line {}: ", hint.line);
  return fmt::format("Note: {}{}\n{}", place, shorten(cleaned(hint.text), longest_finding),
                     hint.excerpt ? excerpt_text(*hint.excerpt) : "");
}

std::string expected_form(const FeedbackContext& context) {
  return fmt::format(
      "Expected is one Python module with `{}` in it and everything that it needs, kernels marked "
      "@triton.jit.\n",
      entry_name(context.style));
}

}  // namespace

std::string failure_part(const Verdict& verdict, std::string_view code, const FeedbackContext& context) {
  Explanation it = explain::explain(verdict, {.candidate = code});
  bool is_reworded = !it.words.told.empty();
  std::string text = fmt::format("{}\n", is_reworded ? it.words.told : it.words.what);
  std::string error = cleaned(it.error);
  if (!error.empty() && !it.compiler_says_error) text += shorten(error, longest_error) + "\n";
  if (!it.compiler_text.empty())
    text += "The compiler says:\n" + tail_of(cleaned(it.compiler_text), longest_compiler_text) + "\n";
  if (it.excerpt) text += "In your module:\n" + excerpt_text(*it.excerpt);
  if (it.mismatch) text += cleaned(in_words(*it.mismatch));
  text += findings_of(it);
  if (verdict.error_class == ErrorClass::missing_entry) text += expected_form(context);
  for (const Hint& hint : it.hints) text += hint_text(hint);
  if (!is_reworded && !it.words.advice.empty()) text += fmt::format("{}\n", it.words.advice);
  return text;
}

namespace {

constexpr std::size_t most_launches = 4;

// A kernel with the number and total time of its launches in one call.
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
  // The longest first; in the order of the launches if times are unknown.
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

std::string speed_part(const Verdict& verdict, double speedup, const FeedbackContext& context) {
  std::string text = fmt::format(
      "It is right, but not fast enough: {:.3g}x the reference's speed, and at least {:.3g}x "
      "is wanted.\n",
      speedup, context.target_speedup);
  if (verdict.reference_time_ms && verdict.kernel_time_ms)
    text += fmt::format("On the device the reference takes {:.4g} ms and yours {:.4g} ms{}.\n",
                        *verdict.reference_time_ms, *verdict.kernel_time_ms,
                        verdict.timing.instrument ? " (" + cleaned(*verdict.timing.instrument) + ")" : "");
  if (const auto& segments = verdict.timing.segments;
      segments && segments->forward.speedup && segments->backward.speedup)
    text += fmt::format("Of that, the forward pass runs at {:.3g}x and the backward pass at {:.3g}x.\n",
                        *segments->forward.speedup, *segments->backward.speedup);
  if (verdict.timing.call_speedup)
    text += fmt::format("Whole calls, with the host's part, run at {:.3g}x.\n", *verdict.timing.call_speedup);
  return text + launches_part(verdict) + roofline_part(verdict) + advice(verdict);
}

}  // namespace

std::string correct_part(const Verdict& verdict, const FeedbackContext& context) {
  if (verdict.counts == false) {
    const std::string inputs = explain::specialised_in_words(verdict);
    return fmt::format("{}\n{}{}",
                       verdict.counts_reason ? explain::words_of(*verdict.counts_reason).told
                                             : "The result is right, but it does not count.",
                       inputs, inputs.empty() ? "" : "\n");
  }
  const auto speedup = verdict.speedup ? verdict.speedup : speedup_trusted(verdict, context.min_trust);
  if (speedup) return speed_part(verdict, *speedup, context);
  return fmt::format("It is right. How fast it is could not be measured ({}); make it as fast as you can.\n",
                     shorten(cleaned(verdict.timing.why_null.value_or("no reason known")), 160)) +
         launches_part(verdict) + advice(verdict);
}

}  // namespace kw::refine
