// Going through a tree in the order of the source, without recursion and without a list of children a node.
#pragma once

#include <cstddef>
#include <string_view>

#include "syntax/tree.h"

namespace kw::harvest {

using syntax::Node;

// Stands at one node of a tree; begins at its root.
class Walk {
 public:
  Walk(Node root, std::string_view code);
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  Node node() const { return {ts_tree_cursor_current_node(&cursor_), code_}; }
  // Of the node in its parent; empty where it has none.
  std::string_view field() const;
  // 0 at the root.
  std::size_t depth() const { return depth_; }

  // On to the next node: the first child where `into`, else what follows the subtree. False at the end.
  bool next(bool into = true);

 private:
  TSTreeCursor cursor_;
  std::string_view code_;
  std::size_t depth_ = 0;
};

}  // namespace kw::harvest
