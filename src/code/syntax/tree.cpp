#include "code/syntax/tree.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

extern "C" const TSLanguage* tree_sitter_python(void);
extern "C" const TSLanguage* tree_sitter_cuda(void);

namespace kw::syntax {
namespace {

// Honest kernels take milliseconds; a longer parse must not delay other candidates. Thread time is counted,
// so that the load of the machine does not change the result.
constexpr std::int64_t longest_parse_ns = 3'000'000'000;

std::int64_t thread_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct Input {
  std::string_view code;
  std::int64_t until_ns = 0;
};

const char* read_input(void* payload, std::uint32_t at, TSPoint, std::uint32_t* bytes) {
  std::string_view code = static_cast<Input*>(payload)->code;
  std::string_view rest = at < code.size() ? code.substr(at) : std::string_view();
  *bytes = static_cast<std::uint32_t>(rest.size());
  return rest.data();
}

bool is_enough(TSParseState* state) {
  return thread_time_ns() > static_cast<Input*>(state->payload)->until_ns;
}

// Blanks lines that are only a comment and keeps the length: at each comment the grammar's scanner looks
// ahead over all following ones, so that a long block of comments takes quadratic time.
std::string without_comment_lines(std::string_view code) {
  std::string blanked(code);
  for (std::size_t begin = 0; begin < blanked.size();) {
    std::size_t end = std::min(blanked.find('\n', begin), blanked.size());
    std::size_t first = blanked.find_first_not_of(" \t\r", begin);
    if (first < end && blanked[first] == '#')
      std::fill(blanked.begin() + static_cast<std::ptrdiff_t>(first),
                blanked.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    begin = end + 1;
  }
  return blanked;
}

// Blanks attributes such as __launch_bounds__(256) and keeps the length: the grammar accepts them in some
// places only, and loses the complete function in others.
std::string without_attributes(std::string_view code) {
  constexpr std::size_t longest = 512;
  std::string blanked(code);
  for (std::string_view word :
       {"__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__", "__align__"})
    for (std::size_t at = blanked.find(word); at != blanked.npos; at = blanked.find(word, at + 1)) {
      std::size_t end = at + word.size(), open = 0, stop = std::min(blanked.size(), at + longest);
      while (end < stop && (blanked[end] == ' ' || blanked[end] == '\n')) ++end;
      if (end >= stop || blanked[end] != '(') continue;
      for (; end < stop; ++end) {
        if (blanked[end] == '(') ++open;
        if (blanked[end] == ')' && --open == 0) break;
      }
      if (end < stop)
        std::ranges::replace_if(
            blanked.begin() + static_cast<std::ptrdiff_t>(at),
            blanked.begin() + static_cast<std::ptrdiff_t>(end + 1), [](char c) { return c != '\n'; }, ' ');
    }
  return blanked;
}

// Null if the time limit is exceeded.
TSTree* parse(std::string_view code, Grammar grammar) {
  std::string blanked = grammar == Grammar::python ? without_comment_lines(code) : without_attributes(code);
  code = blanked;
  std::unique_ptr<TSParser, decltype(&ts_parser_delete)> parser(ts_parser_new(), &ts_parser_delete);
  ts_parser_set_language(parser.get(),
                         grammar == Grammar::python ? tree_sitter_python() : tree_sitter_cuda());
  Input input{code, thread_time_ns() + longest_parse_ns};
  return ts_parser_parse_with_options(
      parser.get(), nullptr, {&input, read_input, TSInputEncodingUTF8, nullptr}, {&input, is_enough});
}

}  // namespace

std::string_view Node::text() const {
  if (is_null()) return {};
  std::size_t begin = ts_node_start_byte(node_);
  return code_.substr(begin, ts_node_end_byte(node_) - begin);
}

Node Node::field(std::string_view name) const {
  if (is_null()) return *this;
  return {ts_node_child_by_field_name(node_, name.data(), static_cast<uint32_t>(name.size())), code_};
}

std::vector<Node> Node::named_children() const {
  std::vector<Node> children;
  if (is_null()) return children;
  TSTreeCursor cursor = ts_tree_cursor_new(node_);
  for (bool more = ts_tree_cursor_goto_first_child(&cursor); more;
       more = ts_tree_cursor_goto_next_sibling(&cursor)) {
    TSNode child = ts_tree_cursor_current_node(&cursor);
    if (ts_node_is_named(child)) children.emplace_back(child, code_);
  }
  ts_tree_cursor_delete(&cursor);
  return children;
}

Tree::Tree(std::string_view code, Grammar grammar)
    : code_(code), tree_(parse(code, grammar), &ts_tree_delete) {}

namespace {

// A position below one node.
class Cursor {
 public:
  explicit Cursor(Node root) : cursor_(ts_tree_cursor_new(root.raw())) {}
  ~Cursor() { ts_tree_cursor_delete(&cursor_); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  TSNode node() const { return ts_tree_cursor_current_node(&cursor_); }
  std::size_t depth() const { return depth_; }

  bool descend() {
    if (!ts_tree_cursor_goto_first_child(&cursor_)) return false;
    ++depth_;
    return true;
  }

  // To the next node that is not below this one; false at the end of the subtree.
  bool pass() {
    while (!ts_tree_cursor_goto_next_sibling(&cursor_)) {
      if (depth_ == 0) return false;
      ts_tree_cursor_goto_parent(&cursor_);
      --depth_;
    }
    return true;
  }

 private:
  TSTreeCursor cursor_;
  std::size_t depth_ = 0;
};

// Calls enter(node, depth) for the first node, which may be null or unnamed, and the named nodes below it.
template <typename Enter>
void walk_below(const Node& first, Enter&& enter) {
  if (!enter(first, 0) || first.is_null()) return;
  Cursor cursor(first);
  bool more = cursor.descend();
  while (more) {
    const TSNode node = cursor.node();
    const bool is_entered = ts_node_is_named(node) && enter(Node(node, first.source()), cursor.depth());
    more = (is_entered && cursor.descend()) || cursor.pass();
  }
}

}  // namespace

void walk(Node node, const std::function<bool(Node)>& enter) {
  walk_below(node, [&](const Node& each, std::size_t) { return enter(each); });
}

Nodes::Nodes(Node root) {
  std::vector<std::size_t> open;  // the nodes around the next one, by depth
  auto close = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back()) ends_[open.back()] = nodes_.size();
  };
  walk_below(root, [&](const Node& node, std::size_t depth) {
    close(depth);
    open.push_back(nodes_.size());
    nodes_.push_back(node);
    ends_.push_back(0);
    return true;
  });
  close(0);
}

std::optional<std::string> dotted_path(Node node) {
  // Longer paths do not occur in honest code; examining every part of a long chain would take quadratic time.
  constexpr std::size_t longest_path = 64;
  std::vector<std::string_view> parts;
  while (node.is("attribute")) {
    if (parts.size() == longest_path) return {};
    parts.push_back(node.field("attribute").text());
    node = node.field("object");
  }
  if (!node.is("identifier")) return {};
  std::string path(node.text());
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    path += '.';
    path += *part;
  }
  return path;
}

std::optional<std::string> string_literal(Node node) {
  if (!node.is("string")) return {};
  auto parts = node.named_children();
  if (parts.size() != 3 || !parts[1].is("string_content") || !parts[1].named_children().empty()) return {};
  if (parts[0].text().find_first_of("fF") != std::string_view::npos) return {};
  return std::string(parts[1].text());
}

}  // namespace kw::syntax
