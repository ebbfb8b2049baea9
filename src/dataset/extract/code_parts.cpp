#include "dataset/extract/code_parts.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/core/text.h"
#include "code/syntax/tree.h"
#include "dataset/extract/cuda_parse.h"
#include "dataset/extract/modules.h"
#include "dataset/extract/parsed_file.h"
#include "dataset/extract/python_definition.h"
#include "dataset/extract/source_walk.h"

namespace kw::harvest {
namespace {

syntax::Grammar grammar_of(Language language) {
  return language == Language::python ? syntax::Grammar::python : syntax::Grammar::cuda;
}

std::vector<std::string> roots(const std::vector<std::string>& paths) {
  std::set<std::string> names;
  for (const std::string& path : paths) names.insert(path.substr(0, path.find('.')));
  return {names.begin(), names.end()};
}

bool is_python_import(Node node) {
  return is_one_of(node.type(), {"import_statement", "import_from_statement", "future_import_statement"});
}

// The first name of "module.member = value"; empty for other statements.
std::string member_owner(Node node) {
  if (!node.is("expression_statement")) return {};
  const auto parts = node.named_children();
  if (parts.size() != 1 || !parts.front().is("assignment")) return {};
  const Node left = parts.front().field("left");
  auto path = left.is("attribute") ? syntax::dotted_path(left) : std::nullopt;
  return path ? path->substr(0, path->find('.')) : std::string();
}

// "name: Type", or "if TYPE_CHECKING:" without another branch.
bool only_declares(Node node) {
  if (node.is("expression_statement")) {
    const auto parts = node.named_children();
    return parts.size() == 1 && parts.front().is("assignment") && parts.front().field("right").is_null();
  }
  if (!node.is("if_statement") || !node.field("alternative").is_null()) return false;
  const auto path = syntax::dotted_path(node.field("condition"));
  return path && (*path == "TYPE_CHECKING" || path->ends_with(".TYPE_CHECKING"));
}

CodePart python_part(Node node, std::string_view code) {
  CodePart part{.span = {node.begin(), node.end()}, .defines = {}, .uses = {}, .decorators = {}};
  part.is_import = is_python_import(node);
  part.only_declares = only_declares(node);
  Node definition = definition_of(node);
  const Names names = names_of(definition, code);
  part.defines = names.defines;
  // Who needs the module needs its members.
  if (std::string owner = member_owner(node); !owner.empty()) part.defines.push_back(std::move(owner));
  part.uses = roots(names.uses);
  if (node.is("decorated_definition"))
    for (Node child : node.named_children())
      if (child.is("decorator"))
        part.decorators.push_back({{line_begin(code, child.begin()), line_end(code, child.end() - 1)},
                                   roots(names_of(child, code).uses)});
  return part;
}

CodeParts python_parts(const syntax::Tree& tree, std::string_view code) {
  CodeParts found;
  found.parses = !tree.has_error();
  for (Node node : tree.root().named_children())
    if (!node.is("comment")) found.parts.push_back(python_part(node, code));
  return found;
}

CodeParts cuda_parts(const syntax::Tree& tree, std::string_view code) {
  CodeParts found;
  found.parses = !tree.has_error();
  ParsedFile file;
  file.source.bytes = code;
  parse_cuda(tree, file);
  for (Node node : tree.root().named_children())
    if (node.is("preproc_include"))
      found.parts.push_back({.span = {node.begin(), node.end()},
                             .is_import = true,
                             .defines = {},
                             .uses = {},
                             .decorators = {}});
  for (const CudaItem& item : file.cuda.items)
    if (!item.has_error)
      found.parts.push_back({.span = item.span, .defines = {item.name}, .uses = item.uses, .decorators = {}});
  std::ranges::sort(found.parts, {}, [](const CodePart& part) { return part.span.begin; });
  return found;
}

using NameSet = std::set<std::string, std::less<>>;

NameSet defined_in(const CodeParts& parts) {
  NameSet names;
  for (const CodePart& part : parts.parts) names.insert(part.defines.begin(), part.defines.end());
  return names;
}

// Under "from __future__ import annotations" no annotation is evaluated, so that names for type checkers need
// no value.
NameSet defined_when_run(const CodeParts& parts, std::string_view code) {
  if (code.contains("from __future__ import annotations")) return defined_in(parts);
  NameSet names;
  for (const CodePart& part : parts.parts)
    if (!part.only_declares) names.insert(part.defines.begin(), part.defines.end());
  return names;
}

bool is_known(const NameSet& defined, const std::string& name) {
  return defined.contains(name) || is_builtin(name);
}

}  // namespace

CodeParts code_parts(std::string_view code, Language language) {
  if (language == Language::none) return {};
  syntax::Tree tree(code, grammar_of(language));
  if (tree.is_null()) return {};
  return language == Language::python ? python_parts(tree, code) : cuda_parts(tree, code);
}

namespace {

std::string object_of(const Import& import) {
  return import.name.empty() ? import.module : import.module + "." + import.name;
}

bool is_none(Node statement) {
  const auto parts = statement.named_children();
  return parts.size() == 1 && parts.front().is("assignment") && parts.front().field("right").is("none");
}

void add_bindings(Node node, std::string_view code, std::set<std::string>& was_none,
                  std::vector<Binding>& all) {
  const Node definition = definition_of(node);
  const Names names = names_of(definition, code);
  for (const Import& import : names.imports)
    if (!import.local.empty())
      all.push_back({.name = import.local, .meaning = object_of(import), .is_import = true});
  if (is_python_import(node)) return;
  const std::vector<std::string> used = roots(names.uses);
  const bool is_assignment = node.is("expression_statement");
  for (const std::string& name : names.defines) {
    const bool continues =
        is_assignment && (was_none.contains(name) || std::ranges::find(used, name) != used.end());
    was_none.erase(name);
    if (is_assignment && is_none(node)) was_none.insert(name);
    all.push_back({.name = name, .meaning = std::string(node.text()), .continues = continues});
  }
}

}  // namespace

std::vector<Binding> bindings(std::string_view python) {
  syntax::Tree tree(python, syntax::Grammar::python);
  std::vector<Binding> all;
  if (tree.is_null()) return all;
  std::set<std::string> was_none;
  for (Node node : tree.root().named_children())
    if (is_python_import(node) || is_one_of(node.type(), {"expression_statement", "function_definition",
                                                          "class_definition", "decorated_definition"}))
      add_bindings(node, python, was_none, all);
  return all;
}

namespace {

constexpr std::size_t deepest_value = 16;  // conditions in a returned value

// How many values an expression has; a call, a member and an item may be tuples.
void add_count(Node value, std::set<std::size_t>& counts, std::size_t depth = 0) {
  if (value.is("expression_list") || value.is("tuple")) {
    counts.insert(value.named_children().size());
  } else if (value.is("parenthesized_expression") && depth < deepest_value) {
    for (const Node& child : value.named_children()) add_count(child, counts, depth + 1);
  } else if (value.is("conditional_expression") && depth < deepest_value) {
    const auto parts = value.named_children();  // value, condition, other value
    if (parts.size() == 3) add_count(parts.front(), counts, depth + 1);
    if (parts.size() == 3) add_count(parts.back(), counts, depth + 1);
  } else {
    counts.insert(is_one_of(value.type(), {"identifier", "binary_operator", "unary_operator"}) ? 1 : 0);
  }
}

std::vector<std::size_t> returned_by(Node body, std::string_view code) {
  std::set<std::size_t> counts;
  Walk walk(body, code);
  bool into = true;
  do {
    const Node node = walk.node();
    into = !is_one_of(node.type(), {"function_definition", "class_definition", "lambda"});
    if (!node.is("return_statement")) continue;
    for (const Node& value : node.named_children()) add_count(value, counts);
  } while (walk.next(into));
  return {counts.begin(), counts.end()};
}

}  // namespace

std::optional<CallShape> call_shape(std::string_view python) {
  syntax::Tree tree(python, syntax::Grammar::python);
  if (tree.is_null()) return {};
  for (Node node : tree.root().named_children()) {
    const Node definition = definition_of(node);
    if (!definition.is("function_definition")) continue;
    return CallShape{.parameters = python_definition(node, python).unit.parameters,
                     .returned = returned_by(definition.field("body"), python)};
  }
  return {};
}

bool is_builtin_name(std::string_view name) {
  return is_builtin(name);
}

bool parses(std::string_view code, Language language) {
  if (language == Language::none) return false;
  syntax::Tree tree(code, grammar_of(language));
  return !tree.is_null() && !tree.has_error();
}

std::vector<std::string> undefined_names(std::string_view python) {
  const CodeParts parts = code_parts(python, Language::python);
  const NameSet defined = defined_when_run(parts, python);
  std::set<std::string> missing;
  for (const CodePart& part : parts.parts) {
    std::string_view text = python.substr(part.span.begin, part.span.end - part.span.begin);
    if (part.is_import && trim(text).starts_with("from .")) missing.emplace(text);
    for (const std::string& name : part.uses)
      if (!is_known(defined, name)) missing.insert(name);
    for (const DecoratorPart& decorator : part.decorators)
      for (const std::string& name : decorator.uses)
        if (!is_known(defined, name)) missing.insert(name);
  }
  return {missing.begin(), missing.end()};
}

std::vector<corpus::Span> unknown_decorators(std::string_view python) {
  const CodeParts parts = code_parts(python, Language::python);
  const NameSet defined = defined_in(parts);
  std::vector<corpus::Span> found;
  for (const CodePart& part : parts.parts)
    for (const DecoratorPart& decorator : part.decorators)
      if (!std::ranges::all_of(decorator.uses,
                               [&](const std::string& name) { return is_known(defined, name); }))
        found.push_back(decorator.span);
  return found;
}

std::string without_unknown_decorators(std::string_view python) {
  std::string text;
  std::size_t done = 0;
  for (const corpus::Span& span : unknown_decorators(python)) {
    text += python.substr(done, span.begin - done);
    done = span.end;
  }
  return text + std::string(python.substr(done));
}

namespace {

// Nodes whose children are statements.
bool is_block(Node node) {
  return node.is("block") || node.is("compound_statement");
}

class Spare {
 public:
  // Nodes begin after the indentation, which belongs to a hole of whole lines.
  Spare(std::string_view code, corpus::Span hole, Language language)
      : code_(code), hole_(hole), inner_(hole), language_(language) {
    while (inner_.begin < inner_.end && is_white(code[inner_.begin])) ++inner_.begin;
    while (inner_.end > inner_.begin && is_white(code[inner_.end - 1])) --inner_.end;
  }

  // Follows the nodes that contain the hole, from the outermost.
  void follow(Node node, bool in_function) {
    for (std::size_t depth = 0; depth < deepest; ++depth) {
      const auto children = node.named_children();
      in_function = in_function || node.is("function_definition");
      const Node* next = nullptr;
      for (const Node& child : children) {
        if (touches(child)) {
          next = next == nullptr && holds(child) ? &child : next;
        } else if (in_function) {
          leave_out(child, is_block(node), 0);
        }
      }
      if (next == nullptr) return;
      Node below = *next;
      node = below;
    }
  }

  std::vector<SparePart> sorted() && {
    std::ranges::sort(found_, {},
                      [](const SparePart& part) { return std::pair(part.distance, part.span.begin); });
    return std::move(found_);
  }

 private:
  static constexpr std::size_t deepest = 64;

  static bool is_white(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  bool touches(Node node) const { return node.begin() < inner_.end && inner_.begin < node.end(); }
  bool holds(Node node) const { return node.begin() <= inner_.begin && inner_.end <= node.end(); }

  void leave_out(Node node, bool is_statement, std::size_t depth) {
    if (depth == deepest) return;
    if (is_statement) {
      add(node, std::string(indent_at(node.begin())) + marker(), true);
    } else if (is_block(node)) {
      add(node,
          language_ == Language::python ? std::string(indent_at(node.begin())) + "...\n" : std::string(),
          false);
    } else if (is_one_of(node.type(), {"elif_clause", "else_clause", "if_statement"})) {
      // The bodies of the other branches.
      for (const Node& child : node.named_children()) leave_out(child, false, depth + 1);
    }
  }

  std::string marker() const { return language_ == Language::python ? "# ...\n" : "// ...\n"; }

  std::string_view indent_at(std::size_t at) const {
    std::size_t line = line_begin(code_, at);
    std::string_view before = code_.substr(line, at - line);
    return before.substr(0, std::min(before.find_first_not_of(" \t"), before.size()));
  }

  // The beginning of the comment above the line, and of blank lines: they belong to what follows. The tree of
  // Python has no nodes for them.
  std::size_t with_comment(std::size_t line) const {
    while (line > 0) {
      const std::size_t above = line_begin(code_, line - 1);
      const std::string_view text = trim(code_.substr(above, line - above));
      if (above < hole_.end && hole_.begin < line) break;
      if (!text.empty() && !text.starts_with('#')) break;
      line = above;
    }
    return line;
  }

  // Only parts that fill whole lines, because others share theirs with code that stays.
  void add(Node node, std::string instead, bool comment_too) {
    if (instead.empty()) return;
    corpus::Span span{line_begin(code_, node.begin()), line_end(code_, node.end() - 1)};
    if (!trim(code_.substr(span.begin, node.begin() - span.begin)).empty()) return;
    std::string_view rest = trim(code_.substr(node.end(), span.end > node.end() ? span.end - node.end() : 0));
    if (!rest.empty() && !rest.starts_with('#') && !rest.starts_with("//")) return;
    if (comment_too && language_ == Language::python) span.begin = with_comment(span.begin);
    if (span.begin < hole_.end && hole_.begin < span.end) return;
    if (code_.substr(span.begin, span.end - span.begin).find('\n') == std::string_view::npos)
      instead.pop_back();
    const std::size_t distance = span.end <= hole_.begin ? hole_.begin - span.end : span.begin - hole_.end;
    found_.push_back({span, std::move(instead), distance});
  }

  std::string_view code_;
  corpus::Span hole_;
  corpus::Span inner_;  // the hole without white space at its ends
  Language language_;
  std::vector<SparePart> found_;
};

}  // namespace

std::vector<SparePart> spare_parts(std::string_view function, corpus::Span hole, Language language) {
  if (language == Language::none || hole.begin >= hole.end || hole.end > function.size()) return {};
  syntax::Tree tree(function, grammar_of(language));
  if (tree.is_null() || tree.has_error()) return {};
  Spare spare(function, hole, language);
  spare.follow(tree.root(), false);
  return std::move(spare).sorted();
}

}  // namespace kw::harvest
