#include "dataset/units/code_words.h"

#include <algorithm>

#include "base/core/text.h"

namespace kw::corpus {
namespace {

// The offset after the string that begins at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at, Syntax syntax) {
  char quote = text[at];
  std::string_view triple = text.substr(at, 3);
  bool is_long = syntax == Syntax::python && triple.size() == 3 && triple[1] == quote && triple[2] == quote;
  std::size_t i = at + (is_long ? 3 : 1);
  for (; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (is_long) {
      if (text.substr(i, 3) == triple) return i + 3;
    } else if (text[i] == quote) {
      return i + 1;
    } else if (text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

// The offset after the comment that begins at `at`; `at` itself if none begins there.
std::size_t end_of_comment(std::string_view text, std::size_t at, Syntax syntax) {
  bool to_line_end = syntax == Syntax::python ? text[at] == '#' : text.substr(at, 2) == "//";
  if (to_line_end) return std::min(text.find('\n', at), text.size());
  if (syntax == Syntax::cuda && text.substr(at, 2) == "/*") {
    std::size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  return at;
}

// The offset of the letters before a quote, as in rb"..."; of the quote where there are none.
std::size_t begin_of_prefix(std::string_view text, std::size_t quote) {
  std::size_t begin = quote;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  const std::string_view prefix = text.substr(begin, quote - begin);
  const bool known = prefix.size() <= 2 && prefix.find_first_not_of("rRbBfFuU") == prefix.npos;
  return known ? begin : quote;
}

// The last part of the path that a decorator calls: "autotune" of "@triton.autotune(configs=...)".
std::string_view last_part(std::string_view decorator) {
  std::string_view callee = trim(decorator.substr(0, decorator.find('(')));
  if (callee.starts_with('@')) callee.remove_prefix(1);
  return trim(callee.substr(callee.rfind('.') + 1));
}

}  // namespace

std::string without_words(std::string_view text, Syntax syntax) {
  std::string code(text);
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end =
        text[i] == '"' || text[i] == '\'' ? end_of_string(text, i, syntax) : end_of_comment(text, i, syntax);
    if (end == i) {
      ++i;
      continue;
    }
    if (syntax == Syntax::python && text[i] != '#') {
      const std::size_t begin = begin_of_prefix(text, i);
      code.replace(begin, i - begin, i - begin, ' ');
    }
    for (; i < end; ++i)
      if (code[i] != '\n') code[i] = ' ';
  }
  return code;
}

bool is_tuner(std::string_view decorator) {
  const std::string_view name = last_part(decorator);
  return name.ends_with("autotune") || name == "libtuner";
}

bool sets_arguments(std::string_view decorator) {
  return is_tuner(decorator) || last_part(decorator).ends_with("tuner") ||
         last_part(decorator).ends_with("heuristics");
}

}  // namespace kw::corpus
