#include "dataset/extract/source_walk.h"

#include <algorithm>

#include "base/core/text.h"

namespace kw::harvest {
namespace {

constexpr std::size_t most_comment_lines = 60;

}  // namespace

std::size_t line_begin(std::string_view text, std::size_t at) {
  if (at == 0) return 0;
  std::size_t newline = text.rfind('\n', at - 1);
  return newline == text.npos ? 0 : newline + 1;
}

std::size_t line_end(std::string_view text, std::size_t at) {
  std::size_t newline = text.find('\n', at);
  return newline == text.npos ? text.size() : newline + 1;
}

std::string dedented(std::string_view text, corpus::Span span) {
  std::size_t begin = line_begin(text, span.begin);
  std::string_view indent = text.substr(begin, span.begin - begin);
  if (indent.find_first_not_of(" \t") != indent.npos) {
    begin = span.begin;  // other code precedes it on its line
    indent = {};
  }
  std::string result;
  for (std::size_t at = begin; at < span.end;) {
    std::size_t end = std::min(line_end(text, at), span.end);
    std::string_view line = text.substr(at, end - at);
    std::size_t same = 0;
    while (same < indent.size() && same < line.size() && line[same] == indent[same]) ++same;
    result += line.substr(same);
    at = end;
  }
  while (!result.empty() && (result.back() == '\n' || result.back() == '\r')) result.pop_back();
  return result;
}

corpus::Span region_around(std::string_view text, corpus::Span span, const std::vector<corpus::Span>& tops,
                           std::size_t most_bytes) {
  std::size_t first = span.begin > most_bytes ? line_end(text, span.begin - most_bytes - 1) : 0;
  std::size_t last = text.size();
  if (text.size() - span.end > most_bytes) last = line_begin(text, span.end + most_bytes);
  first = std::min(first, line_begin(text, span.begin));
  last = std::max(last, line_end(text, span.end > span.begin ? span.end - 1 : span.end));
  // Begins after a statement that the first line would cut; comments between statements belong to the next.
  auto cut = std::ranges::lower_bound(tops, first, {}, &corpus::Span::end);
  if (cut != tops.end() && cut->begin < first && cut->end <= span.begin)
    first = std::min(line_end(text, cut->end), line_begin(text, span.begin));
  auto tail = std::ranges::lower_bound(tops, last, {}, &corpus::Span::end);
  if (tail != tops.end() && tail->begin < last && tail->end > last && tail->begin >= span.end &&
      tail != tops.begin())
    last = std::max(line_end(text, std::prev(tail)->end),
                    line_end(text, span.end > span.begin ? span.end - 1 : span.end));
  return {first, std::min(last, text.size())};
}

std::string comment_above(std::string_view text, std::size_t at, std::string_view mark) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = line_begin(text, at); begin > 0 && lines.size() < most_comment_lines;) {
    std::size_t above = line_begin(text, begin - 1);
    std::string_view line = trim(text.substr(above, begin - above));
    if (!line.starts_with(mark)) break;
    line.remove_prefix(mark.size());
    lines.push_back(trim(line));
    begin = above;
  }
  std::string comment;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!comment.empty()) comment += '\n';
    comment += *line;
  }
  return comment;
}

Walk::Walk(Node root, std::string_view code) : cursor_(ts_tree_cursor_new(root.raw())), code_(code) {}

Walk::~Walk() {
  ts_tree_cursor_delete(&cursor_);
}

std::string_view Walk::field() const {
  const char* name = ts_tree_cursor_current_field_name(&cursor_);
  return name == nullptr ? std::string_view{} : name;
}

bool Walk::next(bool into) {
  if (into && ts_tree_cursor_goto_first_child(&cursor_)) {
    ++depth_;
    return true;
  }
  while (depth_ > 0) {
    if (ts_tree_cursor_goto_next_sibling(&cursor_)) return true;
    ts_tree_cursor_goto_parent(&cursor_);
    --depth_;
  }
  return false;
}

}  // namespace kw::harvest
