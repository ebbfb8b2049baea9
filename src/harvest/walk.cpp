#include "harvest/walk.h"

namespace kw::harvest {

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
