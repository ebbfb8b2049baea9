#include "verify/explain/excerpt.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"

namespace kw::explain {
namespace {

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1 && !text.empty(); --number) {
    std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Span columns_of(const Excerpt& excerpt) {
  auto meant = std::ranges::find(excerpt.lines, excerpt.line, &SourceLine::number);
  if (!excerpt.span || meant == excerpt.lines.end()) return {};
  std::string_view text = meant->text;
  return {characters(text.substr(0, excerpt.span->begin)) + 1,
          characters(text.substr(0, excerpt.span->end)) + 1};
}

std::string gutter(const Excerpt& excerpt, const SourceLine& line) {
  return fmt::format("{} {:4} | ", line.number == excerpt.line ? '>' : ' ', line.number);
}

std::optional<Excerpt> excerpt_of(std::string_view code, std::size_t line) {
  auto lines = static_cast<std::size_t>(std::ranges::count(code, '\n')) + 1;
  if (line == 0 || line > lines) return {};
  Excerpt excerpt{.line = line, .lines = {}, .span = {}};
  for (std::size_t at = line > 2 ? line - 2 : 1; at <= std::min(lines, line + 2); ++at) {
    std::string_view source = line_of(code, at);
    if (at == line || !trim(source).empty()) excerpt.lines.push_back({at, std::string(source)});
  }
  return excerpt;
}

namespace {

constexpr std::size_t nowhere = std::string_view::npos;
constexpr std::size_t longest_searched = 8192;  // of a line, for names

bool in_name(char c) {
  return is_word(c) || (static_cast<unsigned char>(c) & 0x80) != 0;
}

bool in_path(char c) {
  return in_name(c) || c == '.';
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

// Finds a whole word, from `from` on.
std::size_t find_word(std::string_view line, std::string_view word, std::size_t from = 0) {
  for (std::size_t at = line.find(word, from); at != nowhere; at = line.find(word, at + 1)) {
    bool begins = at == 0 || !in_name(line[at - 1]) || !in_name(word.front());
    std::size_t end = at + word.size();
    bool ends = end == line.size() || !in_name(line[end]) || !in_name(word.back());
    if (begins && ends) return at;
  }
  return nowhere;
}

// The dotted name that begins at this place of a line, else the character.
Span name_at(std::string_view line, std::size_t begin) {
  std::size_t end = begin;
  while (end < line.size() && in_path(line[end])) ++end;
  while (end > begin + 1 && line[end - 1] == '.') --end;
  return {begin, std::max(end, begin + 1)};
}

// Extends a found word by the path before it: "tl.load" of "load".
Span with_path(std::string_view line, std::size_t at, std::size_t size) {
  std::size_t begin = at;
  while (begin > 0 && in_path(line[begin - 1])) --begin;
  return {begin, at + size};
}

std::string_view take_line(std::string_view& text) {
  std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == nowhere ? text.size() : end + 1);
  return line;
}

// "out-of-bounds load in KERNEL, ...: beyond `x_ptr`": the access, among several the one with the tensor.
std::optional<Span> access_in(std::string_view error, std::string_view line) {
  constexpr std::string_view before = "out-of-bounds ";
  std::size_t at = error.find(before);
  if (at == nowhere) return {};
  std::string_view kind = error.substr(at + before.size());
  kind = kind.substr(0, kind.find(' '));
  if (kind.empty()) return {};
  std::size_t first = find_word(line, kind);
  if (first == nowhere) return {};
  std::size_t second = find_word(line, kind, first + 1);
  if (second == nowhere) return with_path(line, first, kind.size());
  std::size_t open = error.find('`', at);
  std::size_t close = open == nowhere ? nowhere : error.find('`', open + 1);
  if (close == nowhere || close == open + 1) return {};
  std::size_t tensor = find_word(line, error.substr(open + 1, close - open - 1));
  if (tensor == nowhere || tensor < first) return {};
  std::size_t call = first;
  for (std::size_t next = second; next != nowhere && next < tensor; next = find_word(line, kind, next + 1))
    call = next;
  return with_path(line, call, kind.size());
}

// "'(' was never closed": the last open bracket of the line. "expected ':'": the place after the line.
std::optional<Span> missing_in(std::string_view error, std::string_view line) {
  std::size_t end = line.find_last_not_of(" \t\r") + 1;
  bool lacks_colon = error.contains("expected ':'") && !line.contains('#') && end > 0 && line[end - 1] != ':';
  if (lacks_colon) return Span{end, end + 1};
  if (!error.contains("never closed")) return {};
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (std::string_view("([{").contains(line[at])) open.push_back(at);
    if (std::string_view(")]}").contains(line[at]) && !open.empty()) open.pop_back();
  }
  if (open.empty()) return {};
  return Span{open.back(), open.back() + 1};
}

// The last quoted name that the line contains: errors name the context before the culprit.
std::optional<Span> quoted_name(std::string_view error, std::string_view line) {
  error = error.substr(0, error.find("Did you mean"));
  std::optional<Span> found;
  for (std::size_t open = error.find_first_of("'`"); open != nowhere;) {
    std::size_t close = error.find(error[open], open + 1);
    if (close == nowhere) break;
    std::string_view name = error.substr(open + 1, close - open - 1);
    bool is_name = std::ranges::all_of(name, in_path) && std::ranges::any_of(name, in_name);
    std::size_t at = is_name ? find_word(line, name) : nowhere;
    if (at != nowhere) found = with_path(line, at, name.size());
    // "isn't 'x'": an apostrophe is no opening quote.
    open = error.find_first_of("'`", is_name ? close + 1 : open + 1);
  }
  return found;
}

// "line 1: imports ctypes is forbidden": the longest word of the error that the line contains.
std::optional<Span> forbidden_name(std::string_view error, std::string_view line) {
  std::optional<Span> found;
  while (!error.empty()) {
    std::size_t size = static_cast<std::size_t>(std::ranges::find_if_not(error, in_path) - error.begin());
    std::string_view word = error.substr(0, size);
    std::size_t at = size < 3 ? nowhere : find_word(line, word);
    if (at != nowhere && (!found || size > found->end - found->begin)) found = Span{at, at + size};
    error.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return found;
}

}  // namespace

// Triton repeats the source up to the line, with a caret below it; its indentation may differ.
std::optional<Span> caret_of(std::string_view compiler_text, std::string_view line) {
  std::optional<Span> found;
  std::string_view before;
  while (!compiler_text.empty()) {
    std::string_view now = take_line(compiler_text);
    bool is_caret = trim(now) == "^";
    if (is_caret && !trim(before).empty() && trim(before) == trim(line)) {
      std::size_t column = now.find('^');
      std::size_t begin = column + indent_of(line) - std::min(indent_of(before), column);
      if (column >= indent_of(before) && begin < line.size()) found = name_at(line, begin);
    }
    before = now;
  }
  return found;
}

std::optional<Span> named_in(const Verdict& verdict, std::string_view line) {
  line = line.substr(0, longest_searched);
  std::string_view error = verdict.error ? std::string_view(*verdict.error) : std::string_view();
  if (verdict.error_class == ErrorClass::out_of_bounds) return access_in(error, line);
  if (verdict.error_class == ErrorClass::forbidden) return forbidden_name(error, line);
  if (verdict.error_class == ErrorClass::syntax_error) return missing_in(error, line);
  return quoted_name(error, line);
}

}  // namespace kw::explain
