#include "refine/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "refine/feedback_parts.h"
#include "refine/prompt.h"

namespace kw::refine {
namespace {

constexpr std::size_t longest_excerpt_line = 100;

bool in_path(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == '+' ||
         c == '/';
}

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1 && !text.empty(); --number) {
    std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return text.substr(0, text.find('\n'));
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
    // "/" and "//" are divisions, "/a/b" is a path.
    if (std::ranges::count(path, '/') >= 2 && path.find_first_not_of('/') == 1) {
      result += path.substr(path.rfind('/') + 1);
      at = end;
    } else {
      result += plain[at++];
    }
  }
  return result;
}

std::string tail_of(std::string_view text, std::size_t max_bytes) {
  text = trim(text);
  if (text.size() <= max_bytes) return std::string(text);
  text.remove_prefix(text.size() - max_bytes);
  while (!text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0) == 0x80) text.remove_prefix(1);
  std::size_t line = text.find('\n');
  if (line != std::string_view::npos && line + 1 < text.size()) text.remove_prefix(line + 1);
  return "...\n" + std::string(text);
}

std::string excerpt(std::string_view code, std::size_t line) {
  auto lines = static_cast<std::size_t>(std::ranges::count(code, '\n')) + 1;
  if (line == 0 || line > lines) return {};
  std::string text;
  for (std::size_t at = line > 2 ? line - 2 : 1; at <= std::min(lines, line + 2); ++at) {
    std::string_view source = line_of(code, at);
    if (at != line && trim(source).empty()) continue;
    text += fmt::format("{} {:4} | {}\n", at == line ? '>' : ' ', at,
                        to_plain_text(shorten(source, longest_excerpt_line)));
  }
  return text;
}

std::string build_feedback(const Verdict& verdict, std::string_view code, const FeedbackContext& context) {
  std::string body = verdict.status == Status::correct ? correct_part(verdict, context)
                                                       : failure_part(verdict, code, context);
  std::string end = closing(context);
  if (body.size() + end.size() + 1 > feedback_limit)
    body = shorten(body, feedback_limit - end.size() - 40) + "\n";
  return body + "\n" + end;
}

}  // namespace kw::refine
