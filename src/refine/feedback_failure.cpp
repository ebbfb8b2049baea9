#include <fmt/format.h>

#include <algorithm>

#include "base/display.h"
#include "base/text.h"
#include "explain/explanation.h"
#include "refine/feedback_parts.h"
#include "refine/prompt.h"

namespace kw::refine {
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

}  // namespace kw::refine
