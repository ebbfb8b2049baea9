#include "explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "syntax/static_findings.h"

namespace kw::explain {
namespace {

constexpr std::size_t most_static_findings = 2;

// Of a class or reason that is missing, or that only a newer version knows.
constexpr Words did_not_work{"It did not work.", ""};
constexpr Words does_not_count{"The result is right, but it does not count.", ""};

// Class or reason, and its words.
void name_rule(const Verdict& verdict, Explanation& it) {
  if (verdict.status == Status::correct) {
    if (verdict.counts != false) return;
    if (verdict.counts_reason) it.rule = to_string(*verdict.counts_reason);
    it.words = verdict.counts_reason ? words_of(*verdict.counts_reason) : does_not_count;
    return;
  }
  if (verdict.error_class) it.rule = to_string(*verdict.error_class);
  it.words = verdict.error_class ? words_of(*verdict.error_class) : did_not_work;
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

// Numbers that the error does not say already. First mismatch apart, the worst of all trials.
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

// What the syntax tree suggests, where that may explain what went wrong.
std::vector<Hint> hints_of(const Verdict& verdict, std::string_view code) {
  if (code.empty() || verdict.status == Status::correct || verdict.error_class == ErrorClass::forbidden)
    return {};
  StaticReport report = examine(code);
  std::vector<Hint> hints;
  if (report.has_error && report.error_line != 0 && !verdict.error_detail)
    hints.push_back({fmt::format("the first thing that does not parse is near line {}", report.error_line), 0,
                     excerpt_of(code, report.error_line)});
  for (const StaticFinding& finding : report.findings | std::views::take(most_static_findings))
    hints.push_back({finding.what, finding.line, {}});
  return hints;
}

std::string circumstances_of(const Verdict& verdict) {
  std::string text = fmt::format("stage {}: {}", to_string(verdict.stage), words_of(verdict.stage));
  if (verdict.trust) text += fmt::format("; {}", words_of(*verdict.trust));
  if (verdict.fault && verdict.fault != Fault::kernel) text += fmt::format("; {}", words_of(*verdict.fault));
  return text;
}

}  // namespace

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
  if (mismatch.max_abs_error)
    worst.push_back(fmt::format("largest absolute error {:.3g}", *mismatch.max_abs_error));
  if (mismatch.max_rel_error)
    worst.push_back(fmt::format("largest relative error {:.3g}", *mismatch.max_rel_error));
  if (!worst.empty()) text += fmt::format("Over all trials: {}\n", fmt::join(worst, ", "));
  return text;
}

}  // namespace kw::explain
