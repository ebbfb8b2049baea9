#include "refine/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "refine/feedback_parts.h"
#include "refine/prompt.h"

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

std::string build_feedback(const Verdict& verdict, std::string_view code, const FeedbackContext& context) {
  std::string body = verdict.status == Status::correct ? correct_part(verdict, context)
                                                       : failure_part(verdict, code, context);
  std::string end = closing(context);
  if (body.size() + end.size() + 1 > feedback_limit)
    body = shorten(body, feedback_limit - end.size() - 40) + "\n";
  return body + "\n" + end;
}

}  // namespace kw::refine
