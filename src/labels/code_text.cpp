#include "labels/code_text.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"

namespace kw::labels {
namespace {

constexpr std::size_t longest_call = 4'000;  // beyond it no argument list is looked at

// Past the string that begins at `at`.
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

// Past the comment that begins at `at`; `at` itself where none does.
std::size_t end_of_comment(std::string_view text, std::size_t at, Syntax syntax) {
  bool to_line_end = syntax == Syntax::python ? text[at] == '#' : text.substr(at, 2) == "//";
  if (to_line_end) return std::min(text.find('\n', at), text.size());
  if (syntax == Syntax::cuda && text.substr(at, 2) == "/*") {
    std::size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  return at;
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
    for (; i < end; ++i)
      if (code[i] != '\n') code[i] = ' ';
  }
  return code;
}

bool has_word(std::string_view code, std::string_view word) {
  for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    std::size_t end = at + word.size();
    if ((at == 0 || !is_word(code[at - 1])) && (end == code.size() || !is_word(code[end]))) return true;
  }
  return false;
}

std::vector<std::vector<std::string_view>> calls_of(std::string_view code, std::string_view name) {
  std::vector<std::vector<std::string_view>> calls;
  std::string opening = "." + std::string(name) + "(";
  for (std::size_t at = code.find(opening); at != std::string_view::npos; at = code.find(opening, at + 1)) {
    std::size_t begin = at + opening.size();
    std::size_t last = std::min(code.size(), begin + longest_call);
    std::vector<std::string_view> arguments;
    int depth = 0;
    for (std::size_t i = begin; i < last; ++i) {
      char c = code[i];
      bool closes = c == ')' || c == ']' || c == '}';
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (closes && depth-- == 0) last = i;
      if ((c == ',' && depth == 0) || i == last) {
        std::string_view argument = trim(code.substr(begin, i - begin));
        if (!argument.empty()) arguments.push_back(argument);
        begin = i + 1;
      }
    }
    calls.push_back(std::move(arguments));
  }
  return calls;
}

}  // namespace kw::labels
