#include "verify/explain/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/core/display.h"
#include "base/core/text.h"
#include "code/syntax/static_findings.h"

namespace kw::explain {
namespace {

constexpr std::size_t most_static_findings = 2;
constexpr std::size_t most_causes = 6;
constexpr std::size_t longest_name = 60;  // of a launch or a call, in cells

// Sets the error class or reason, and its sentences.
void name_rule(const Verdict& verdict, Explanation& it) {
  if (verdict.status == Status::correct) {
    if (verdict.counts != false) return;
    if (verdict.counts_reason) it.rule = to_string(*verdict.counts_reason);
    it.words = verdict.counts_reason ? words_of(*verdict.counts_reason) : did_not_count;
    return;
  }
  if (verdict.error_class) it.rule = to_string(*verdict.error_class);
  it.words = verdict.error_class ? words_of(*verdict.error_class) : Words{did_not_work, ""};
}

void find_place(const Verdict& verdict, const Sources& sources, Explanation& it) {
  if (!verdict.error_detail) return;
  const ErrorDetail& detail = *verdict.error_detail;
  it.file = detail.file.value_or("kernel.py");
  if (detail.compiler_text && !trim(*detail.compiler_text).empty()) it.compiler_text = *detail.compiler_text;
  if (detail.compiler_text && verdict.error)
    it.compiler_says_error = detail.compiler_text->contains(trim(*verdict.error));
  if (detail.line.value_or(0) <= 0) return;
  it.line = static_cast<std::size_t>(*detail.line);
  it.excerpt = excerpt_of(it.file == "reference.py" ? sources.reference : sources.candidate, it.line);
  if (!it.excerpt) return;
  const std::string& meant = std::ranges::find(it.excerpt->lines, it.line, &SourceLine::number)->text;
  it.excerpt->span = caret_of(it.compiler_text, meant);
  it.compiler_points_there = it.excerpt->span.has_value();
  if (!it.excerpt->span) it.excerpt->span = named_in(verdict, meant);
}

// The numbers that the error does not contain already: the first mismatch, and the worst values of all
// trials.
std::optional<Mismatch> mismatch_of(const Verdict& verdict) {
  if (verdict.status != Status::incorrect || !verdict.comparison) return {};
  const Comparison& seen = *verdict.comparison;
  auto said = [&](const char* words) { return verdict.error && verdict.error->contains(words); };
  Mismatch mismatch;
  if (!said("first at")) mismatch.first = seen.first_mismatch;
  if (seen.mismatched_share.value_or(0) > 0 && !said("%")) mismatch.wrong_share = seen.mismatched_share;
  if (!said("largest error")) mismatch.max_abs_error = seen.max_abs_error;
  mismatch.max_rel_error = seen.max_rel_error;
  return mismatch;
}

// Findings of the syntax tree that may explain the failure.
std::vector<Hint> hints_of(const Verdict& verdict, std::string_view code) {
  if (code.empty() || correct_and_counts(verdict) || verdict.error_class == ErrorClass::forbidden) return {};
  StaticReport report = examine(code);
  std::vector<Hint> hints;
  if (report.has_error && report.error_line != 0 && !verdict.error_detail)
    hints.push_back({fmt::format("the first syntax error is near line {}", report.error_line), 0,
                     excerpt_of(code, report.error_line)});
  for (const StaticFinding& finding : report.findings | std::views::take(most_static_findings))
    hints.push_back({finding.what, finding.line, {}});
  return hints;
}

// "sgemm (library), double (candidate, 3 times)".
std::string launches_in_words(const std::vector<Launch>& launches) {
  std::vector<std::pair<const Launch*, std::size_t>> kinds;
  for (const Launch& launch : launches) {
    auto same = std::ranges::find_if(kinds, [&](const auto& kind) {
      return kind.first->name == launch.name && kind.first->whose == launch.whose;
    });
    if (same == kinds.end())
      kinds.emplace_back(&launch, 1);
    else
      ++same->second;
  }
  std::vector<std::string> words;
  for (const auto& [launch, times] : kinds | std::views::take(most_causes)) {
    std::string about = launch->whose.value_or("unknown origin");
    if (times > 1) about += fmt::format(", {} times", times);
    words.push_back(
        fmt::format("{} ({})", fitted(visible_line(launch->name), longest_name), visible_line(about)));
  }
  if (kinds.size() > most_causes) words.push_back(fmt::format("and {} more", kinds.size() - most_causes));
  return fmt::format("{}", fmt::join(words, ", "));
}

// "line 3: F.softmax, line 4: torch.matmul".
std::string calls_in_words(std::string_view code) {
  const std::vector<StaticFinding> calls = torch_calls(code);
  std::vector<std::string> words;
  for (const StaticFinding& call : calls | std::views::take(most_causes))
    words.push_back(fmt::format("line {}: {}", call.line, fitted(visible_line(call.what), longest_name)));
  if (calls.size() > most_causes) words.push_back(fmt::format("and {} more", calls.size() - most_causes));
  return fmt::format("{}", fmt::join(words, ", "));
}

// "x: scaled by 60 (38% of the values differ)".
std::string failure_in_words(const FamilyTrial& failed) {
  const std::string inputs = failed.inputs.value_or(failed.family);
  if (!failed.mismatched_share) return fmt::format("{} (no result of the right kind)", inputs);
  return fmt::format("{} ({:.3g}% of the values differ)", inputs, 100 * *failed.mismatched_share);
}

// The inputs on which a right result is wrong.
std::vector<std::string> failures_in_words(const Generality& generality) {
  std::vector<std::string> failures;
  for (const auto* trials : {&generality.families, &generality.shape_trials})
    for (const FamilyTrial& each : *trials)
      if (each.outcome == FamilyOutcome::failed && !each.reported_only && failures.size() < most_causes)
        failures.push_back("wrong on " + visible_line(failure_in_words(each)));
  return failures;
}

// The launches, calls and inputs because of which a right result does not count.
std::vector<std::string> causes_of(const Verdict& verdict, std::string_view code) {
  std::vector<std::string> causes;
  if (verdict.counts != false) return causes;
  if (verdict.counts_reason == CountsReason::specialised && verdict.generality)
    return failures_in_words(*verdict.generality);
  const bool library_only = verdict.counts_reason == CountsReason::library_only;
  const bool by_launches = library_only || verdict.counts_reason == CountsReason::decoy ||
                           verdict.counts_reason == CountsReason::not_triton ||
                           verdict.counts_reason == CountsReason::wraps_reference;
  if (!by_launches) return causes;
  if (verdict.launches && !verdict.launches->empty())
    causes.push_back("a call launches " + launches_in_words(*verdict.launches));
  else if (library_only)
    causes.push_back("a call launches no Triton kernel of the module");
  if (verdict.counts_reason == CountsReason::not_triton) return causes;
  if (std::string calls = calls_in_words(code); !calls.empty())
    causes.push_back("PyTorch may compute the result: " + calls);
  return causes;
}

// "right at other shapes", or the first one at which it is wrong.
std::string shapes_in_words(const Generality& generality) {
  if (generality.shapes == ShapeGenerality::any) return "right at other shapes too";
  for (const FamilyTrial& each : generality.shape_trials)
    if (each.outcome == FamilyOutcome::failed && each.family != empty_shape)
      return "wrong at another shape: " + visible_line(failure_in_words(each));
  return "no other shape could be tried";
}

// "bounds clean, memcheck not run (needs a GPU)".
std::string sanitized_in_words(const std::vector<SanitizerCheck>& checks) {
  std::vector<std::string> words;
  for (const SanitizerCheck& each : checks) {
    std::string outcome = each.outcome == SanitizerOutcome::clean ? "clean" : "a finding";
    if (each.outcome == SanitizerOutcome::not_run)
      outcome = fmt::format("not run ({})", visible_line(each.why_not.value_or("unknown reason")));
    words.push_back(fmt::format("{} {}", to_string(each.check), outcome));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string circumstances_of(const Verdict& verdict) {
  std::string text = fmt::format("stage {}: {}", to_string(verdict.stage), words_of(verdict.stage));
  if (verdict.trust)
    text += fmt::format("; {}", words_of(*verdict.trust, verdict.kernel_time_ms.has_value()));
  if (verdict.gradients) text += fmt::format("; gradients judged: {}", verdict.gradients->size());
  if (const std::string further = further_checks_in_words(verdict); !further.empty()) text += "; " + further;
  if (verdict.judged_calls.value_or(0) > 0) text += fmt::format("; calls judged: {}", *verdict.judged_calls);
  if (verdict.comparison && verdict.comparison->error_ratio)
    text +=
        fmt::format("; largest error: {:.3g} times the reference's own", *verdict.comparison->error_ratio);
  if (verdict.fault && verdict.fault != Fault::kernel) text += fmt::format("; {}", words_of(*verdict.fault));
  return text;
}

}  // namespace

std::string further_checks_in_words(const Verdict& verdict) {
  std::vector<std::string> words;
  if (verdict.generality && verdict.generality->shapes) words.push_back(shapes_in_words(*verdict.generality));
  if (verdict.sanitized) words.push_back("sanitized: " + sanitized_in_words(*verdict.sanitized));
  return fmt::format("{}", fmt::join(words, "; "));
}

Level level_of(Status status, std::optional<bool> counts) {
  switch (status) {
    case Status::correct:
      return counts == false ? Level::warning : Level::none;
    case Status::incorrect:
    case Status::failed:
      return Level::error;
    case Status::skipped:
      return Level::note;
    case Status::error:
      return Level::warning;
  }
  return Level::error;
}

std::string specialised_in_words(const Verdict& verdict) {
  if (verdict.counts_reason != CountsReason::specialised || !verdict.generality) return {};
  const FamilyTrial* failed = specialised_on(*verdict.generality);
  if (failed == nullptr) return {};
  return fmt::format("It is right on the task's own inputs, and wrong on these: {}.",
                     visible_line(failure_in_words(*failed)));
}

Explanation explain(const Verdict& verdict, const Sources& sources) {
  Explanation it;
  it.id = verdict.id;
  it.status = verdict.status;
  it.counts = verdict.counts;
  it.level = level_of(verdict.status, verdict.counts);
  name_rule(verdict, it);
  it.error = verdict.error.value_or("");
  find_place(verdict, sources, it);
  it.mismatch = mismatch_of(verdict);
  if (verdict.comparison) it.findings = verdict.comparison->findings;
  it.hints = hints_of(verdict, sources.candidate);
  it.causes = causes_of(verdict, sources.candidate);
  it.printed = verdict.printed.value_or("");
  it.circumstances = circumstances_of(verdict);
  return it;
}

std::string in_words(const Mismatch& mismatch) {
  std::string text;
  if (mismatch.first)
    text +=
        fmt::format("First at {}[{}]: expected {:.6g}, got {:.6g}\n", mismatch.first->output,
                    fmt::join(mismatch.first->index, ", "), mismatch.first->expected, mismatch.first->actual);
  std::vector<std::string> worst;
  if (mismatch.wrong_share)
    worst.push_back(fmt::format("{:.3g}% of all values are wrong", 100 * *mismatch.wrong_share));
  if (mismatch.max_abs_error.value_or(0) != 0)
    worst.push_back(fmt::format("largest absolute error {:.3g}", *mismatch.max_abs_error));
  if (mismatch.max_rel_error.value_or(0) != 0)
    worst.push_back(fmt::format("largest relative error {:.3g}", *mismatch.max_rel_error));
  if (!worst.empty()) text += fmt::format("Over all trials: {}\n", fmt::join(worst, ", "));
  return text;
}

namespace {

constexpr std::size_t longest_text = 1500;  // of an error, in bytes
constexpr std::size_t longest_finding = 400;
constexpr std::size_t longest_file = 60;
constexpr std::size_t most_findings = 5;
constexpr std::size_t most_lines = 12;  // of one text
constexpr std::size_t longest_printed = 8192;
constexpr std::size_t most_printed_lines = 60;
constexpr std::string_view indent = "  ";

// A line of source, with tabs expanded to spaces.
std::string shown(std::string_view source) {
  if (source.ends_with('\r')) source.remove_suffix(1);
  return visible_line(source);
}

class Page {
 public:
  Page(const Explanation& it, const Style& style)
      : it_(it), style_(style), room_(style.width - std::min(style.width, indent.size() + 1)) {}

  std::string text() && {
    std::string head = fmt::format("{}: {}", shown(it_.id), in_short(it_.status, it_.counts, it_.rule));
    text_ = style_.paint(fitted(head, style_.width), colour_of(it_.level)) + "\n";
    if (!it_.words.what.empty()) say(it_.words.what);
    say_error();
    if (it_.line > 0) say_place();
    say_numbers();
    for (std::size_t i = 0; i < std::min(it_.findings.size(), most_findings); ++i)
      say("note: ", shorten(visible(it_.findings[i]), longest_finding));
    // The tree of source that does not parse is unreliable.
    if (it_.rule != to_string(ErrorClass::syntax_error))
      for (const Hint& hint : it_.hints) say_hint(hint);
    for (const std::string& cause : it_.causes) say("note: ", cause);
    if (!it_.words.advice.empty()) say("help: ", it_.words.advice);
    if (!it_.printed.empty())
      say_tail("It printed:", it_.printed, {.bytes = longest_printed, .lines = most_printed_lines});
    if (!it_.circumstances.empty()) say("= ", it_.circumstances, Colour::grey);
    return std::move(text_);
  }

 private:
  void line(std::string_view words, Colour colour = Colour::none) {
    text_ += fmt::format("{}{}\n", indent, style_.paint(words, colour));
  }

  // Wraps the words; further lines are indented by the prefix's width.
  void say(std::string_view prefix, std::string_view words, Colour colour = Colour::none) {
    std::vector<std::string> lines = wrapped(words, room_ - std::min(room_, prefix.size()));
    std::size_t shown_lines = std::min(lines.size(), most_lines);
    for (std::size_t i = 0; i < shown_lines; ++i)
      line(i == 0 ? fmt::format("{}{}", prefix, lines[i])
                  : fmt::format("{:{}}{}", "", prefix.size(), lines[i]),
           colour);
    if (lines.size() > shown_lines)
      line(fmt::format("[... {} lines left out]", lines.size() - shown_lines), Colour::grey);
  }
  void say(std::string_view words) { say("", words); }

  // The compiler's text is left out if the excerpt shows its caret.
  void say_error() {
    bool shows_compiler = !it_.compiler_text.empty() && !it_.compiler_points_there;
    if (!it_.error.empty() && !(shows_compiler && it_.compiler_says_error))
      say(shorten(visible(trim(it_.error)), longest_text));
    if (!shows_compiler) return;
    say_tail("The compiler says:", it_.compiler_text, {.bytes = longest_text, .lines = most_lines});
  }

  struct Most {
    std::size_t bytes;
    std::size_t lines;
  };
  // The end of a text of several lines, below a head.
  void say_tail(std::string_view head, std::string_view text, Most most) {
    line(head);
    std::vector<std::string> lines =
        wrapped(tail_of(shown_lines_of(text), most.bytes), room_ - std::min(room_, indent.size()));
    for (std::size_t i = lines.size() - std::min(lines.size(), most.lines); i < lines.size(); ++i)
      line(fmt::format("{}{}", indent, lines[i]));
  }

  static std::string shown_lines_of(std::string_view text) {
    std::string all;
    while (!text.empty()) {
      std::size_t end = std::min(text.find('\n'), text.size());
      all += shown(text.substr(0, end)) + "\n";
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return all;
  }

  void say_place() {
    std::string place = fmt::format("--> {}:{}", fitted(shown(it_.file), longest_file), it_.line);
    if (it_.excerpt && it_.excerpt->span) place += fmt::format(":{}", columns_of(*it_.excerpt).begin);
    line(place);
    if (it_.excerpt) say_excerpt(*it_.excerpt);
  }

  void say_excerpt(const Excerpt& excerpt) {
    std::size_t room = room_ - std::min(room_ - 1, gutter(excerpt, excerpt.lines.front()).size());
    auto meant = std::ranges::find(excerpt.lines, excerpt.line, &SourceLine::number);
    std::pair<std::size_t, std::size_t> span;
    if (excerpt.span)
      span = {cells(shown(meant->text.substr(0, excerpt.span->begin))),
              cells(shown(meant->text.substr(0, excerpt.span->end)))};
    // The same window of each line is shown, around the caret if the line is long.
    std::size_t from = span.second < room ? 0 : span.first - std::min(span.first, room / 3);
    for (const SourceLine& source : excerpt.lines) {
      std::string words = gutter(excerpt, source) + window(shown(source.text), from, room);
      words.erase(words.find_last_not_of(' ') + 1);
      line(words);
      if (source.number == excerpt.line && excerpt.span)
        line(fmt::format("  {:4} | {:{}}{}", "", "", span.first - from,
                         style_.paint(std::string(underline(span, from + room), '^'), colour_of(it_.level))));
    }
  }

  static std::size_t underline(std::pair<std::size_t, std::size_t> span, std::size_t end) {
    std::size_t last = std::min(span.second, end);
    return last > span.first ? last - span.first : 1;
  }

  void say_numbers() {
    if (!it_.mismatch) return;
    std::string words = in_words(*it_.mismatch);
    if (!words.empty()) say(shorten(visible(trim(words)), longest_text));
  }

  void say_hint(const Hint& hint) {
    std::string place = hint.line == 0 ? "" : fmt::format("line {}: ", hint.line);
    say("note: ", place + shorten(visible(hint.text), longest_finding));
    if (hint.excerpt) say_excerpt(*hint.excerpt);
  }

  const Explanation& it_;
  const Style& style_;
  std::size_t room_;
  std::string text_;
};

}  // namespace

Colour colour_of(Level level) {
  switch (level) {
    case Level::none:
      return Colour::green;
    case Level::note:
      return Colour::grey;
    case Level::warning:
      return Colour::yellow;
    case Level::error:
      return Colour::red;
  }
  return Colour::none;
}

std::string to_terminal(const Explanation& explanation, const Style& style) {
  return Page(explanation, style).text();
}

}  // namespace kw::explain
