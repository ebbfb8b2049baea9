#include "harvest/python_definition.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "harvest/python_names.h"
#include "harvest/text_lines.h"

namespace kw::harvest {
namespace {

using corpus::Parameter;

// Whether nothing but a comment stands between the offset and its line's end.
bool line_is_done(std::string_view code, std::size_t at) {
  std::string_view rest = trim(code.substr(at, line_end(code, at) - at));
  return rest.empty() || rest.front() == '#';
}

// The body begins on the next line where it can.
std::size_t signature_end(Node definition, std::string_view code) {
  Node body = definition.field("body");
  std::size_t colon = definition.begin();
  Walk walk(definition, code);
  for (bool more = walk.next(); more; more = walk.next(false))
    if (walk.node().is(":")) colon = walk.node().end();
  if (!body.is_null() && line_is_done(code, colon)) return line_end(code, colon);
  return colon;
}

// With a comment that follows on its last line.
std::size_t text_end(Node whole, std::string_view code) {
  std::size_t end = whole.end();
  while (end > whole.begin() &&
         (code[end - 1] == '\n' || code[end - 1] == '\r' || code[end - 1] == ' ' || code[end - 1] == '\t'))
    --end;
  if (!line_is_done(code, end)) return end;
  std::string_view rest = code.substr(end, line_end(code, end) - end);
  return end + rest.find_last_not_of(" \t\r\n") + 1;  // npos + 1 is 0
}

Parameter parameter(Node node) {
  Parameter result;
  Node name = node;
  if (node.is("default_parameter") || node.is("typed_default_parameter")) name = node.field("name");
  if (node.is("typed_parameter")) {
    auto parts = node.named_children();
    if (!parts.empty()) name = parts.front();
  }
  result.name = name.text();
  if (!ts_node_eq(name.raw(), node.raw())) {
    result.annotation = node.field("type").text();
    result.preset = node.field("value").text();
  }
  result.is_constexpr = result.annotation.find("constexpr") != result.annotation.npos;
  return result;
}

std::vector<Parameter> parameters(Node function) {
  std::vector<Parameter> result;
  for (Node node : function.field("parameters").named_children())
    if (!node.is("keyword_separator") && !node.is("positional_separator") && !node.is("comment"))
      result.push_back(parameter(node));
  return result;
}

std::vector<Parameter> parameters_of_forward(Node definition) {
  for (Node member : definition.field("body").named_children()) {
    Node method = definition_of(member);
    if (!method.is("function_definition") || method.field("name").text() != "forward") continue;
    auto result = parameters(method);
    if (!result.empty() && result.front().name == "self") result.erase(result.begin());
    return result;
  }
  return {};
}

std::string_view without_quotes(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_of("\"'"), text.size()));
  for (std::string_view quotes : {R"(""")", "'''", "\"", "'"})
    if (text.size() >= 2 * quotes.size() && text.starts_with(quotes) && text.ends_with(quotes))
      return text.substr(quotes.size(), text.size() - 2 * quotes.size());
  return text;
}

std::string docstring(Node definition) {
  Node body = definition.field("body");
  if (body.is_null()) return {};
  auto statements = body.named_children();
  if (statements.empty() || !statements.front().is("expression_statement")) return {};
  auto parts = statements.front().named_children();
  if (parts.size() != 1 || !parts.front().is("string")) return {};
  return std::string(trim(without_quotes(parts.front().text())));
}

std::vector<std::string> calls_in(Node whole, std::string_view code) {
  std::set<std::string> calls;
  Walk walk(whole, code);
  do {
    if (!walk.node().is("call")) continue;
    Node function = walk.node().field("function");
    if (function.is("subscript")) function = function.field("value");
    if (auto path = syntax::dotted_path(function)) calls.insert(*path);
  } while (walk.next());
  return {calls.begin(), calls.end()};
}

std::string decorator_name(Node decorator) {
  auto parts = decorator.named_children();
  if (parts.empty()) return {};
  Node expression = parts.front().is("call") ? parts.front().field("function") : parts.front();
  return syntax::dotted_path(expression).value_or(std::string(shorten(expression.text(), 200)));
}

}  // namespace

Node definition_of(Node whole) {
  return whole.is("decorated_definition") ? whole.field("definition") : whole;
}

PendingUnit python_definition(Node whole, std::string_view code) {
  Node definition = definition_of(whole);
  PendingUnit pending;
  corpus::Unit& unit = pending.unit;
  unit.name = definition.field("name").text();
  unit.place.span = {whole.begin(), text_end(whole, code)};
  unit.text = code.substr(unit.place.span.begin, unit.place.span.end - unit.place.span.begin);
  unit.signature_bytes = std::min(signature_end(definition, code), unit.place.span.end) - whole.begin();
  if (whole.is("decorated_definition"))
    for (Node node : whole.named_children())
      if (node.is("decorator")) {
        unit.decorators.emplace_back(trim(node.text()));
        pending.decorators.push_back({decorator_name(node), names_of(node, code).uses});
      }
  unit.parameters =
      definition.is("class_definition") ? parameters_of_forward(definition) : parameters(definition);
  unit.doc = docstring(definition);
  if (unit.doc.empty()) unit.doc = comment_above(code, whole.begin(), "#");
  unit.calls = calls_in(whole, code);
  pending.uses = names_of(definition, code).uses;
  return pending;
}

}  // namespace kw::harvest
