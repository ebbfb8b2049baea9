#include "dataset/extract/cuda_parse.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/core/text.h"
#include "dataset/extract/source_walk.h"

namespace kw::harvest {
namespace {

constexpr std::size_t longest_comment = 8 * 1024;
constexpr std::size_t deepest_declarator = 16;

void add_words(std::string_view text, std::set<std::string>& words) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (text[at] < '0' || text[at] > '9') words.emplace(text.substr(at, end - at));
    at = end;
  }
}

// The function_declarator below pointers and references.
Node function_declarator(Node function) {
  Node declarator = function.field("declarator");
  for (std::size_t depth = 0; depth < deepest_declarator && !declarator.is("function_declarator"); ++depth) {
    Node inner = declarator.field("declarator");
    if (inner.is_null()) {
      auto children = declarator.named_children();
      if (children.empty()) break;
      inner = children.back();
    }
    declarator = inner;
  }
  return declarator;
}

// The name that a parameter's declarator declares; null if there is none.
Node name_in(Node declarator) {
  for (std::size_t depth = 0; depth < deepest_declarator && !declarator.is_null(); ++depth) {
    if (declarator.is("identifier")) return declarator;
    Node inner = declarator.field("declarator");
    if (inner.is_null()) {
      auto children = declarator.named_children();
      if (children.empty()) break;
      inner = declarator.is("function_declarator") ? children.front() : children.back();
    }
    declarator = inner;
  }
  return {TSNode{}, {}};
}

corpus::Parameter cuda_parameter(Node node, std::string_view code) {
  corpus::Parameter result;
  Node declarator = node.field("declarator"), preset = node.field("default_value");
  result.preset = preset.text();
  std::size_t end = declarator.is_null() ? node.end() : declarator.end();
  if (declarator.is_null() && !preset.is_null()) end = node.field("type").end();
  Node name = name_in(declarator);
  if (name.is_null()) {
    result.annotation = trim(code.substr(node.begin(), end - node.begin()));
    return result;
  }
  result.name = name.text();
  result.annotation = trim(code.substr(node.begin(), name.begin() - node.begin()));
  result.annotation += code.substr(name.end(), end - name.end());
  return result;
}

std::vector<corpus::Parameter> cuda_parameters(Node declarator, std::string_view code) {
  std::vector<corpus::Parameter> result;
  for (Node node : declarator.field("parameters").named_children())
    if (node.type().ends_with("parameter_declaration")) result.push_back(cuda_parameter(node, code));
  if (result.size() == 1 && result.front().annotation == "void" && result.front().name.empty())
    result.clear();
  return result;
}

std::vector<std::string> cuda_calls(Node function, std::string_view code) {
  std::set<std::string> calls;
  Walk walk(function, code);
  do {
    if (!walk.node().is("call_expression")) continue;
    Node callee = walk.node().field("function");
    if (callee.is("template_function")) callee = callee.field("name");
    if (callee.is("identifier") || (callee.is("qualified_identifier") && callee.text().size() < 200))
      calls.emplace(callee.text());
  } while (walk.next());
  return {calls.begin(), calls.end()};
}

std::string comment_before(std::string_view code, std::size_t begin) {
  std::string lines = comment_above(code, begin, "//");
  if (!lines.empty()) return lines;
  std::size_t from = begin > longest_comment ? begin - longest_comment : 0;
  std::string_view above = trim(code.substr(from, begin - from));
  if (!above.ends_with("*/")) return {};
  std::size_t open = above.rfind("/*");
  if (open == above.npos) return {};
  above.remove_prefix(open);
  std::string text;
  for (std::size_t at = 0; at < above.size();) {
    std::size_t end = line_end(above, at);
    std::string_view line = trim(above.substr(at, end - at));
    line.remove_prefix(std::min(line.find_first_not_of("/*! "), line.size()));
    if (line.ends_with("*/")) line = trim(line.substr(0, line.find_last_not_of("*/") + 1));
    if (!line.empty()) text += (text.empty() ? "" : "\n") + std::string(line);
    at = end;
  }
  return text;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    bool before = at > 0 && is_word(text[at - 1]);
    std::size_t end = at + word.size();
    if (!before && (end >= text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

// Macros such as CUTLASS_DEVICE and CUTE_HOST_DEVICE mean __device__.
bool is_device(std::string_view head) {
  if (has_word(head, "__device__")) return true;
  std::set<std::string> words;
  add_words(head, words);
  return std::ranges::any_of(words, [](std::string_view word) {
    return word.ends_with("_DEVICE") || word.ends_with("_DEVICE_INLINE");
  });
}

}  // namespace

std::string cuda_function_name(Node function) {
  Node name = function_declarator(function).field("declarator");
  if (name.is("qualified_identifier") || name.is("template_function")) {
    Node last = name.field("name");
    name = last.is("qualified_identifier") ? last.field("name") : last;
  }
  std::string_view text = name.text();
  bool plain = !text.empty() && std::ranges::all_of(text, is_word);
  return plain ? std::string(text) : std::string{};
}

std::optional<PendingUnit> cuda_function(Node function, std::size_t begin, std::string_view code) {
  Node body = function.field("body");
  if (function.has_error() || !body.is("compound_statement")) return {};
  std::string_view head = code.substr(begin, body.begin() - begin);
  bool kernel = has_word(head, "__global__");
  if (!kernel && !is_device(head)) return {};
  PendingUnit pending;
  corpus::Unit& unit = pending.unit;
  unit.name = cuda_function_name(function);
  if (unit.name.empty()) return {};
  unit.kind = kernel ? corpus::UnitKind::cuda_kernel : corpus::UnitKind::cuda_device;
  unit.source.span = {begin, function.end()};
  unit.text = code.substr(begin, function.end() - begin);
  std::size_t brace = body.begin() + 1, line = line_end(code, brace);
  bool done = trim(code.substr(brace, line - brace)).empty();
  unit.signature_bytes = std::min(done ? line : brace, function.end()) - begin;
  unit.parameters = cuda_parameters(function_declarator(function), code);
  unit.calls = cuda_calls(function, code);
  unit.doc = comment_before(code, begin);
  pending.uses = cuda_uses(function, code);
  std::set<std::string> words(pending.uses.begin(), pending.uses.end());
  add_words(head, words);
  words.erase(unit.name);
  pending.uses.assign(words.begin(), words.end());
  return pending;
}

std::vector<std::string> cuda_uses(Node node, std::string_view code) {
  std::set<std::string> words;
  Walk walk(node, code);
  do {
    std::string_view type = walk.node().type();
    if (type == "identifier" || type == "type_identifier") words.emplace(walk.node().text());
    if (type == "preproc_arg") add_words(walk.node().text(), words);
  } while (walk.next());
  return {words.begin(), words.end()};
}

namespace {

// Whether a node of this type contains definitions at file level.
bool holds_definitions(std::string_view type) {
  return type.starts_with("preproc_if") || type.starts_with("preproc_el") ||
         is_one_of(type, {"translation_unit", "ERROR", "namespace_definition", "declaration_list",
                          "linkage_specification", "template_declaration"});
}

// The name that a node other than a function defines.
std::string name_of(Node node) {
  if (is_one_of(node.type(),
                {"preproc_def", "preproc_function_def", "struct_specifier", "class_specifier",
                 "enum_specifier", "union_specifier", "alias_declaration", "concept_definition"}))
    return std::string(node.field("name").text());
  Node inner = node.field("declarator");
  if (node.is("declaration") || node.is("type_definition") || node.is("init_declarator")) {
    for (std::size_t depth = 0; depth < 16 && !inner.field("declarator").is_null(); ++depth)
      inner = inner.field("declarator");
    if (inner.is("identifier") || inner.is("type_identifier")) return std::string(inner.text());
    if (inner.is_null()) return std::string(node.field("type").field("name").text());
  }
  return {};
}

class CudaFile {
 public:
  CudaFile(const syntax::Tree& tree, ParsedFile& file) : tree_(tree), file_(file), code_(file.source.bytes) {}

  std::vector<corpus::Span> run() {
    Walk walk(tree_.root(), code_);
    for (bool more = walk.next(); more;) {
      Node node = walk.node();
      if (walk.depth() == 1 && node.is_named()) tops_.push_back({node.begin(), node.end()});
      while (!heads_.empty() && heads_.back().end <= node.begin()) heads_.pop_back();
      bool into = node.is_named() && holds_definitions(node.type());
      if (opens_head(node)) heads_.push_back({node.begin(), node.end()});
      if (!into && node.is_named()) leaf(node);
      more = walk.next(into);
    }
    return std::move(tops_);
  }

 private:
  // A template line or an extern "C" belongs to the definition that follows.
  static bool opens_head(Node node) {
    if (node.is("template_declaration")) return true;
    return node.is("linkage_specification") && !node.field("body").is("declaration_list");
  }

  // The begin of the outermost head, including macros before it on its line.
  std::size_t begin_of(Node node) const {
    std::size_t begin = heads_.empty() ? node.begin() : std::min(heads_.front().begin, node.begin());
    std::size_t line = line_begin(code_, begin);
    std::string_view before = trim(code_.substr(line, begin - line));
    bool macro = !before.empty() && before.find_first_of("(){};#/*\"<>=,:") == before.npos;
    return macro ? line + code_.substr(line).find_first_not_of(" \t") : begin;
  }

  void leaf(Node node) {
    if (node.is("preproc_include")) {
      std::string line(trim(node.text()));
      if (includes_.insert(line).second) file_.cuda.includes.push_back(line);
      return;
    }
    bool function = node.is("function_definition");
    std::size_t begin = begin_of(node);
    std::string name = function ? cuda_function_name(node) : name_of(node);
    if (!name.empty())
      file_.cuda.items.push_back({.name = name,
                                  .span = {begin, node.end()},
                                  .uses = cuda_uses(node, code_),
                                  .is_function = function,
                                  .has_error = node.has_error()});
    if (!function) return;
    if (auto unit = cuda_function(node, begin, code_)) file_.units.push_back(std::move(*unit));
  }

  const syntax::Tree& tree_;
  ParsedFile& file_;
  std::string_view code_;
  std::vector<corpus::Span> heads_;  // enclosing template lines and extern "C"
  std::vector<corpus::Span> tops_;
  std::set<std::string> includes_;
};

}  // namespace

std::vector<corpus::Span> parse_cuda(const syntax::Tree& tree, ParsedFile& file) {
  auto tops = CudaFile(tree, file).run();
  find_cuda_launches(tree, file);
  return tops;
}

namespace {

constexpr std::string_view kernel_mark = "__global__";

// The reason why the mark at the offset begins no unit; empty where it begins none that could be one.
std::string why_lost(Node root, std::string_view code, std::size_t at) {
  const auto begin = static_cast<std::uint32_t>(at);
  const auto end = static_cast<std::uint32_t>(at + kernel_mark.size());
  Node node{ts_node_descendant_for_byte_range(root.raw(), begin, end), code};
  if (is_one_of(node.type(), {"comment", "string_content", "string_literal", "raw_string_content"}))
    return {};
  bool broken = false;
  for (; !node.is_null(); node = Node{ts_node_parent(node.raw()), code}) {
    if (node.type().starts_with("preproc_arg") || node.is("preproc_def")) return "it is part of a macro";
    if (node.is("declaration") && !node.has_error()) return {};
    if (node.is("function_definition")) {
      if (node.has_error()) return "its code does not parse";
      return cuda_function_name(node).empty() ? "its name is made by a macro"
                                              : "it is a method or has no body";
    }
    broken = broken || node.is("ERROR");
  }
  return broken ? "the code around it does not parse" : "it is no function definition";
}

}  // namespace

std::vector<std::string> lost_cuda_kernels(const syntax::Tree& tree, const ParsedFile& file) {
  std::vector<std::string> lost;
  std::string_view code = file.source.bytes;
  for (std::size_t at = code.find(kernel_mark); at != code.npos; at = code.find(kernel_mark, at + 1)) {
    bool word = (at > 0 && is_word(code[at - 1])) ||
                (at + kernel_mark.size() < code.size() && is_word(code[at + kernel_mark.size()]));
    bool found = std::ranges::any_of(file.units, [&](const PendingUnit& unit) {
      return unit.unit.source.span.begin <= at && at < unit.unit.source.span.end;
    });
    if (word || found) continue;
    std::string why = why_lost(tree.root(), code, at);
    auto line = 1 + std::ranges::count(code.substr(0, at), '\n');
    if (!why.empty()) lost.push_back("line " + std::to_string(line) + ": " + why);
  }
  return lost;
}

namespace {

constexpr std::size_t most_cuda_launches_a_file = 2'000;

std::string cuda_callee(Node function) {
  if (function.is("template_function")) function = function.field("name");
  for (int depth = 0; depth < 8 && function.is("qualified_identifier"); ++depth)
    function = function.field("name");
  if (function.is("template_function")) function = function.field("name");
  return function.is("identifier") ? std::string(function.text()) : std::string{};
}

// The function's text; of a long function, the part before the launch.
std::string caller_text(Node caller, Node launch, std::string_view code) {
  corpus::Span span{caller.begin(), caller.end()};
  if (span.end - span.begin > longest_caller) {
    span.end = std::min({line_end(code, launch.end()), span.end, launch.end() + longest_caller / 4});
    if (span.end - span.begin > longest_caller)
      span.begin = std::min(line_end(code, span.end - longest_caller), span.end);
  }
  return dedented(code, span);
}

void add(Node call, Node grid, Node caller, ParsedFile& file) {
  PendingLaunch pending;
  pending.callee = cuda_callee(call.field("function"));
  if (pending.callee.empty() || file.launches.size() >= most_cuda_launches_a_file) return;
  std::string_view brackets = trim(grid.text());
  if (brackets.starts_with("<<<") && brackets.ends_with(">>>"))
    brackets = trim(brackets.substr(3, brackets.size() - 6));
  pending.launch.grid = shorten(brackets, longest_argument);
  for (Node argument : call.field("arguments").named_children())
    if (!argument.is("comment"))
      pending.launch.arguments.push_back({{}, shorten(argument.text(), longest_argument)});
  pending.span = {call.begin(), call.end()};
  if (!caller.is_null()) {
    pending.launch.caller = cuda_function_name(caller);
    pending.launch.caller_text = caller_text(caller, call, file.source.bytes);
  }
  file.launches.push_back(std::move(pending));
}

}  // namespace

void find_cuda_launches(const syntax::Tree& tree, ParsedFile& file) {
  if (file.source.bytes.find("<<<") == std::string::npos) return;
  Node none{TSNode{}, {}};
  Node caller = none;
  Walk walk(tree.root(), file.source.bytes);
  do {
    Node node = walk.node();
    if (!caller.is_null() && caller.end() <= node.begin()) caller = none;
    if (node.is("function_definition") && caller.is_null()) caller = node;
    if (!node.is("call_expression")) continue;
    for (Node part : node.named_children())
      if (part.is("kernel_call_syntax")) add(node, part, caller, file);
  } while (walk.next());
}

}  // namespace kw::harvest
