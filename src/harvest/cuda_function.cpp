#include "harvest/cuda_function.h"

#include <algorithm>
#include <set>

#include "base/ascii.h"
#include "base/text.h"
#include "harvest/text_lines.h"

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

// What a parameter's declarator is about; null where it has no name.
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

corpus::Parameter parameter(Node node, std::string_view code) {
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

std::vector<corpus::Parameter> parameters(Node declarator, std::string_view code) {
  std::vector<corpus::Parameter> result;
  for (Node node : declarator.field("parameters").named_children())
    if (node.type().ends_with("parameter_declaration")) result.push_back(parameter(node, code));
  if (result.size() == 1 && result.front().annotation == "void" && result.front().name.empty())
    result.clear();
  return result;
}

std::vector<std::string> calls_in(Node function, std::string_view code) {
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

// CUTLASS_DEVICE, CUTE_HOST_DEVICE and their like stand for __device__.
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
  unit.place.span = {begin, function.end()};
  unit.text = code.substr(begin, function.end() - begin);
  std::size_t brace = body.begin() + 1, line = line_end(code, brace);
  bool done = trim(code.substr(brace, line - brace)).empty();
  unit.signature_bytes = std::min(done ? line : brace, function.end()) - begin;
  unit.parameters = parameters(function_declarator(function), code);
  unit.calls = calls_in(function, code);
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

}  // namespace kw::harvest
