#include <algorithm>
#include <map>
#include <optional>

#include "base/core/text.h"
#include "dataset/extract/python_definition.h"
#include "dataset/extract/python_parse.h"
#include "dataset/extract/source_walk.h"

namespace kw::harvest {
namespace {

constexpr std::size_t most_python_launches_a_file = 4'000;

struct Around {
  Node node;
  std::string name;  // "Class.method"
  bool is_function = false;
};

std::string short_text(std::string_view text) {
  return shorten(text, longest_argument);
}

std::vector<corpus::Argument> arguments(Node list) {
  std::vector<corpus::Argument> result;
  for (Node node : list.named_children()) {
    if (node.is("comment")) continue;
    if (node.is("keyword_argument"))
      result.push_back({std::string(node.field("name").text()), short_text(node.field("value").text())});
    else
      result.push_back({{}, short_text(node.text())});
  }
  return result;
}

// The launched name of `kernel`, `wrap_triton(kernel)` or `self.kernel`.
std::optional<std::string> launched_name(Node value) {
  if (value.is("call")) {
    auto parts = value.field("arguments").named_children();
    if (parts.size() != 1) return {};
    return syntax::dotted_path(parts.front());
  }
  return syntax::dotted_path(value);
}

class LaunchFinder {
 public:
  LaunchFinder(const syntax::Tree& tree, ParsedFile& file)
      : tree_(tree), file_(file), code_(file.source.bytes) {}

  void run() {
    Walk walk(tree_.root(), code_);
    do {
      Node node = walk.node();
      if (!node.is_named()) continue;
      while (!around_.empty() && around_.back().node.end() <= node.begin()) around_.pop_back();
      if (node.is("function_definition") || node.is("class_definition"))
        open(node);
      else if (node.is("call"))
        call(node);
      else if (node.is("assignment"))
        assignment(node);
    } while (walk.next());
    for (PendingLaunch& launch : file_.launches) {
      auto found = assigned_.find(launch.callee);
      if (found != assigned_.end()) launch.aliases = found->second;
    }
  }

 private:
  void open(Node node) {
    std::string name(node.field("name").text());
    // Deeply nested definitions get a shortened name.
    if (!around_.empty() && !around_.back().is_function && around_.size() < 8)
      name = around_.back().name + "." + name;
    around_.push_back({node, std::move(name), node.is("function_definition")});
  }

  void call(Node node) {
    Node function = node.field("function");
    if (function.is("subscript")) {
      auto callee = launched_name(function.field("value"));
      if (callee) add(node, *callee, grid_of(function));
    } else if (function.is("attribute")) {
      std::string_view method = function.field("attribute").text();
      if (method != "run" && method != "warmup") return;
      auto callee = launched_name(function.field("object"));
      if (!callee) return;
      std::string grid;
      for (const auto& argument : arguments(node.field("arguments")))
        if (argument.name == "grid") grid = argument.text;
      add(node, *callee, grid);
    }
  }

  // The text between the brackets.
  static std::string grid_of(Node subscript) {
    std::string_view text = subscript.text();
    std::size_t begin = subscript.field("value").end() - subscript.begin();
    begin = text.find('[', begin);
    if (begin == text.npos || text.back() != ']') return {};
    return short_text(text.substr(begin + 1, text.size() - begin - 2));
  }

  void add(Node node, const std::string& callee, std::string grid) {
    if (file_.launches.size() >= most_python_launches_a_file) return;
    PendingLaunch pending;
    pending.callee = callee;
    pending.span = {node.begin(), node.end()};
    pending.launch.grid = std::move(grid);
    pending.launch.arguments = arguments(node.field("arguments"));
    auto caller =
        std::find_if(around_.rbegin(), around_.rend(), [](const Around& a) { return a.is_function; });
    if (caller != around_.rend()) {
      pending.launch.caller = caller->name;
      pending.launch.caller_text = caller_text(caller->node, node);
    }
    file_.launches.push_back(std::move(pending));
  }

  // The function's text; of a long function, the part before the launch.
  std::string caller_text(Node caller, Node launch) const {
    corpus::Span span{caller.begin(), caller.end()};
    if (span.end - span.begin <= longest_caller) return dedented(code_, span);
    std::size_t end = std::min({line_end(code_, launch.end()), span.end, launch.end() + longest_caller / 4});
    std::size_t begin = std::max(span.begin, end > longest_caller ? end - longest_caller : 0);
    if (begin > span.begin) begin = std::min(line_end(code_, begin), end);
    return dedented(code_, {begin, end});
  }

  // kernel = first if wide else second
  void assignment(Node node) {
    Node left = node.field("left"), right = node.field("right");
    if (!left.is("identifier") || right.is_null()) return;
    std::vector<Node> values{right};
    if (right.is("conditional_expression")) values = right.named_children();
    if (values.size() > 3) return;
    auto& paths = assigned_[std::string(left.text())];
    for (Node value : values)
      if (auto path = syntax::dotted_path(value); path && paths.size() < 16) paths.push_back(*path);
  }

  const syntax::Tree& tree_;
  ParsedFile& file_;
  std::string_view code_;
  std::vector<Around> around_;
  std::map<std::string, std::vector<std::string>, std::less<>> assigned_;
};

}  // namespace

void find_python_launches(const syntax::Tree& tree, ParsedFile& file) {
  LaunchFinder(tree, file).run();
}

}  // namespace kw::harvest
