#include "explain/excerpt.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

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

}  // namespace kw::explain
