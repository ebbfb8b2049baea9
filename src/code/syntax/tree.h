// A parsed source of Python or CUDA, and accessors of its nodes. Of others, only dataset/extract and score
// include it.
#pragma once

#include <tree_sitter/api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw::syntax {

enum class Grammar { python, cuda };

// A node with its source. Null if there is none.
class Node {
 public:
  Node(TSNode node, std::string_view code) : node_(node), code_(code) {}

  bool is_null() const { return ts_node_is_null(node_); }
  std::string_view type() const { return is_null() ? "" : ts_node_type(node_); }
  bool is(std::string_view name) const { return type() == name; }
  std::string_view text() const;
  std::string_view source() const { return code_; }  // of the whole tree
  std::size_t begin() const { return is_null() ? 0 : ts_node_start_byte(node_); }
  std::size_t end() const { return is_null() ? 0 : ts_node_end_byte(node_); }
  bool is_named() const { return !is_null() && ts_node_is_named(node_); }
  bool has_error() const { return !is_null() && ts_node_has_error(node_); }
  std::size_t line() const { return ts_node_start_point(node_).row + 1; }
  Node field(std::string_view name) const;
  std::vector<Node> named_children() const;
  TSNode raw() const { return node_; }

 private:
  TSNode node_;
  std::string_view code_;
};

class Tree {
 public:
  explicit Tree(std::string_view code, Grammar grammar = Grammar::python);
  // True if parsing exceeded the time limit; then there is no root.
  bool is_null() const { return tree_ == nullptr; }
  Node root() const { return {ts_tree_root_node(tree_.get()), code_}; }
  bool has_error() const { return ts_node_has_error(ts_tree_root_node(tree_.get())); }

 private:
  std::string_view code_;
  std::unique_ptr<TSTree, decltype(&ts_tree_delete)> tree_;
};

// Calls enter for the node and all named nodes below it, in the order of the source; skips the subtree of a
// node for which enter returns false. Not recursive, since a candidate may nest code to any depth.
void walk(Node node, const std::function<bool(Node)>& enter);

// A node and all named nodes below it in the order of the source, read from the tree once for many passes.
class Nodes {
 public:
  explicit Nodes(Node root);
  const Node& root() const { return nodes_.front(); }

  // The same as walk() of the root.
  template <typename Enter>
  void walk(Enter&& enter) const {
    for (std::size_t at = 0; at < nodes_.size();) at = enter(nodes_[at]) ? at + 1 : ends_[at];
  }

 private:
  std::vector<Node> nodes_;
  std::vector<std::size_t> ends_;  // of each node: the index behind its subtree
};

// "triton.runtime.jit" for names and attributes of names; empty for other expressions.
std::optional<std::string> dotted_path(Node node);

// The text of a plain string literal: no f-string, no escapes, no concatenation.
std::optional<std::string> string_literal(Node node);

}  // namespace kw::syntax
