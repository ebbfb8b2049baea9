// Lines around a span of a source, and traversal of its syntax tree in the order of the source. Private to
// this folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "code/syntax/tree.h"
#include "dataset/units/unit.h"

namespace kw::harvest {

// The offset of the line's first byte; the offset after its newline, or the text's end.
std::size_t line_begin(std::string_view text, std::size_t at);
std::size_t line_end(std::string_view text, std::size_t at);

// The span's text as complete lines without the indentation of its first line; lines with less indentation
// stay unchanged. No newline at the end.
std::string dedented(std::string_view text, corpus::Span span);

// Up to most_bytes before and after the span, in complete lines, cut at the end of one of `tops` if
// possible. `tops` are sorted and do not overlap.
corpus::Span region_around(std::string_view text, corpus::Span span, const std::vector<corpus::Span>& tops,
                           std::size_t most_bytes);

// The comment lines directly above the offset, without their marks; empty if there are none.
std::string comment_above(std::string_view text, std::size_t at, std::string_view mark);

using syntax::Node;

// A cursor at one node of a tree; it begins at the root.
class Walk {
 public:
  Walk(Node root, std::string_view code);
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  Node node() const { return {ts_tree_cursor_current_node(&cursor_), code_}; }
  // The field name of the node in its parent; empty if it has none.
  std::string_view field() const;
  // 0 at the root.
  std::size_t depth() const { return depth_; }

  // Moves to the next node: the first child if `into`, else the node after the subtree. False at the end.
  bool next(bool into = true);

 private:
  TSTreeCursor cursor_;
  std::string_view code_;
  std::size_t depth_ = 0;
};

}  // namespace kw::harvest
