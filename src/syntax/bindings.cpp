#include "syntax/passes.h"

namespace kw::syntax {
namespace {

void bind(Node name, StaticReport& report) {
  report.names.emplace(name.text());
}

// The names in an assignment's left side: attributes and subscripts bind nothing.
void bind_targets(Node target, StaticReport& report) {
  walk(target, [&](Node node) {
    if (node.is("identifier")) bind(node, report);
    return !node.is("attribute") && !node.is("subscript");
  });
}

void bind_imports(Node statement, StaticReport& report) {
  Node module = statement.field("module_name");
  for (Node name : statement.named_children()) {
    if (!module.is_null() && ts_node_eq(name.raw(), module.raw())) continue;
    if (name.is("wildcard_import")) report.open = true;
    if (name.is("aliased_import")) bind(name.field("alias"), report);
    if (name.is("dotted_name")) report.names.emplace(name.text().substr(0, name.text().find('.')));
  }
}

void bind_definition(Node node, StaticReport& report) {
  bind(node.field("name"), report);
  // `def __getattr__` at the top level answers for any name.
  if (node.field("name").text() == "__getattr__") report.open = true;
}

// Binds what the node binds; false where names below it belong to another scope.
bool enter(Node node, StaticReport& report) {
  std::string_view type = node.type();
  if (type == "function_definition" || type == "class_definition") {
    bind_definition(node, report);
    return false;
  }
  if (type == "lambda" || type.ends_with("_comprehension") || type == "generator_expression") return false;
  if (type == "import_statement" || type == "import_from_statement" || type == "future_import_statement") {
    bind_imports(node, report);
    return false;
  }
  if (type == "assignment" || type == "augmented_assignment" || type == "for_statement")
    bind_targets(node.field("left"), report);
  if (type == "named_expression") bind(node.field("name"), report);
  if (type == "as_pattern_target") bind_targets(node, report);
  return true;
}

// What can bind top-level names from anywhere.
bool opens(Node node) {
  if (!node.is("call")) return false;
  std::string_view function = node.field("function").text();
  return function == "exec" || function == "globals" || function == "vars" || function == "locals" ||
         function == "setattr";
}

}  // namespace

void find_bindings(Node root, StaticReport& report) {
  walk(root, [&](Node node) { return enter(node, report); });
  walk(root, [&](Node node) {
    if (opens(node)) report.open = true;
    if (node.is("global_statement"))
      for (Node name : node.named_children()) bind(name, report);
    return true;
  });
}

}  // namespace kw::syntax
