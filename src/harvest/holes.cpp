#include "harvest/holes.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "harvest/walk.h"

namespace kw::harvest {
namespace {

constexpr std::size_t fewest_for_runs = 3;  // statements of a block
constexpr std::string_view wrapper = "if 1:\n";

// What is parsed: the function's lines, under a statement of our own where they are indented.
struct Piece {
  std::string code;
  std::size_t region_begin = 0;  // of the region, where the code's own first byte lies
  std::size_t own = 0;           // bytes in front that are ours
};

Piece piece_of(std::string_view region, corpus::Span function, Language language) {
  std::size_t begin = function.begin;
  if (language == Language::python)
    while (begin > 0 && (region[begin - 1] == ' ' || region[begin - 1] == '\t')) --begin;
  Piece piece{.code = {}, .region_begin = begin, .own = 0};
  if (begin < function.begin) {
    piece.code = wrapper;
    piece.own = wrapper.size();
  }
  piece.code += region.substr(begin, function.end - begin);
  return piece;
}

class Holes {
 public:
  explicit Holes(const Piece& piece) : piece_(piece) {}

  void add(std::string_view node, std::size_t begin, std::size_t end) {
    if (begin < piece_.own || begin >= end) return;
    found_.push_back({std::string(node),
                      {begin - piece_.own + piece_.region_begin, end - piece_.own + piece_.region_begin}});
  }

  // Statements as whole lines, where nothing else stands on their lines.
  void add_statements(Node first, Node last) {
    std::size_t begin = first.begin();
    std::string_view code = piece_.code;
    while (begin > piece_.own && (code[begin - 1] == ' ' || code[begin - 1] == '\t')) --begin;
    if (begin > piece_.own && code[begin - 1] != '\n') begin = first.begin();
    std::size_t end = last.end();
    while (end > begin && (code[end - 1] == '\n' || code[end - 1] == '\r' || code[end - 1] == ' ')) --end;
    add("block", begin, end);
  }

  void add_block(Node block, bool whole) {
    auto statements = block.named_children();
    std::erase_if(statements, [](Node node) { return node.is("comment"); });
    if (statements.empty()) return;
    if (whole) add_statements(statements.front(), statements.back());
    if (statements.size() < fewest_for_runs) return;
    std::size_t run = std::max<std::size_t>(2, statements.size() / 3);
    for (std::size_t from = 0; from + run <= statements.size(); from += run)
      add_statements(statements[from], statements[from + run - 1]);
  }

  std::vector<HoleSpan> sorted() && {
    // A call that is returned or assigned counts as an expression.
    auto order = [](const HoleSpan& hole) {
      return std::tuple(hole.middle.begin, ~hole.middle.end, hole.node == "call");
    };
    std::ranges::sort(found_, {}, order);
    auto again = std::ranges::unique(found_, {}, &HoleSpan::middle);
    found_.erase(again.begin(), again.end());
    return std::move(found_);
  }

 private:
  const Piece& piece_;
  std::vector<HoleSpan> found_;
};

bool is_trivial(Node node) {
  static constexpr std::string_view trivial[] = {"identifier", "integer", "float",  "true",          "false",
                                                 "none",       "null",    "string", "number_literal"};
  return std::ranges::find(trivial, node.type()) != std::end(trivial);
}

// The right side of an assignment, what is returned; null for other nodes.
std::optional<Node> value_of(Node node) {
  if (node.is("assignment") || node.is("augmented_assignment") || node.is("assignment_expression"))
    return node.field("right");
  if (node.is("init_declarator")) return node.field("value");
  if (node.is("return_statement")) {
    auto values = node.named_children();
    if (values.size() == 1) return values.front();
  }
  return {};
}

bool is_body(Node node) {
  return node.is("block") || node.is("compound_statement");
}
bool is_call(Node node) {
  return node.is("call") || node.is("call_expression");
}

// The body of the first function or class in the tree.
std::optional<Node> body_of(Node root, std::string_view code) {
  Walk walk(root, code);
  do {
    if (!walk.node().is("function_definition") && !walk.node().is("class_definition")) continue;
    Node body = walk.node().field("body");
    if (is_body(body)) return body;
  } while (walk.next());
  return {};
}

void collect(Node body, std::string_view code, Holes& holes) {
  Walk walk(body, code);
  bool into = true;
  do {
    Node node = walk.node();
    into = node.is_named() && !node.is("ERROR");
    if (!into || node.has_error()) continue;
    if (is_body(node)) holes.add_block(node, walk.depth() > 0);
    if (is_call(node)) holes.add("call", node.begin(), node.end());
    if (auto value = value_of(node); value && !value->is_null() && !is_trivial(*value))
      holes.add("expression", value->begin(), value->end());
  } while (walk.next(into));
}

}  // namespace

std::vector<HoleSpan> hole_spans(std::string_view region, corpus::Span function, Language language) {
  if (language == Language::none || function.begin >= function.end || function.end > region.size()) return {};
  Piece piece = piece_of(region, function, language);
  syntax::Tree tree(piece.code,
                    language == Language::python ? syntax::Grammar::python : syntax::Grammar::cuda);
  if (tree.is_null()) return {};
  auto body = body_of(tree.root(), piece.code);
  if (!body) return {};
  Holes holes(piece);
  collect(*body, piece.code, holes);
  return std::move(holes).sorted();
}

}  // namespace kw::harvest
