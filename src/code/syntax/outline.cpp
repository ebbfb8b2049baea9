#include "code/syntax/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/core/text.h"
#include "code/syntax/passes.h"
#include "code/syntax/tree.h"

namespace kw {
namespace syntax {
namespace {

using namespace std::string_view_literals;

// Bases of classes that are not called like a reference.
constexpr std::array plain_bases{"object"sv,  "Function"sv, "NamedTuple"sv, "TypedDict"sv, "Protocol"sv,
                                 "ABC"sv,     "Enum"sv,     "IntEnum"sv,    "StrEnum"sv,   "Flag"sv,
                                 "IntFlag"sv, "Generic"sv,  "BaseModel"sv,  "str"sv,       "int"sv,
                                 "float"sv,   "dict"sv,     "list"sv,       "tuple"sv,     "set"sv};

bool is_plain_base(std::string_view name) {
  return std::ranges::find(plain_bases, name) != plain_bases.end() || name.ends_with("Error") ||
         name.ends_with("Exception");
}

// The path of a decorator without its arguments: "torch.no_grad" of @torch.no_grad().
std::string decorator_path(Node decorator) {
  auto parts = decorator.named_children();
  if (parts.empty()) return {};
  Node expression = parts.front().is("call") ? parts.front().field("function") : parts.front();
  return dotted_path(expression).value_or("");
}

Node first_identifier(Node parameter) {
  if (parameter.is("identifier")) return parameter;
  if (Node name = parameter.field("name"); !name.is_null()) return name;
  auto parts = parameter.named_children();
  return parts.empty() ? parameter : parts.front();
}

// Takes the parameters of a function or a lambda; `skipped` come first and are left out.
void take_parameters(Node list, std::size_t skipped, Definition& into) {
  into.knows_parameters = true;
  bool by_position = true;
  for (Node each : list.named_children()) {
    if (each.is("comment") || each.is("positional_separator")) continue;
    if (each.is("keyword_separator")) {
      by_position = false;
      continue;
    }
    Node name = first_identifier(each);
    if (name.is("list_splat_pattern") || name.is("dictionary_splat_pattern") ||
        each.is("list_splat_pattern") || each.is("dictionary_splat_pattern")) {
      into.knows_parameters = false;
      continue;
    }
    if (skipped > 0) {
      --skipped;
      continue;
    }
    bool has_default = each.is("default_parameter") || each.is("typed_default_parameter");
    into.parameters.push_back({std::string(name.text()), !has_default, by_position});
  }
}

class Outliner {
 public:
  explicit Outliner(Node root) : aliases_(find_aliases(root)) {}

  std::vector<Definition> run(Node root) {
    walk(root, [this](Node node) { return enter(node); });
    return std::move(found_);
  }

  // Of the run before.
  std::vector<std::string> possible() { return std::move(possible_); }

 private:
  // False if names below the node belong to another scope.
  bool enter(Node node) {
    if (node.is("decorated_definition")) {
      add_decorated(node);
      return false;
    }
    if (node.is("function_definition")) add(function(node));
    if (node.is("class_definition")) add_class(node, true);
    if (node.is("assignment")) add_assignment(node);
    return node.is("module") || node.is("block") || node.is("expression_statement") ||
           node.is("try_statement") || node.is("except_clause") || node.is("else_clause") ||
           node.is("elif_clause") || node.is("finally_clause") || node.is("with_statement") ||
           (node.is("if_statement") && !node.field("condition").text().contains("__name__"));
  }

  static Definition function(Node node) {
    Definition definition{std::string(node.field("name").text()), Definition::Kind::function};
    take_parameters(node.field("parameters"), 0, definition);
    return definition;
  }

  void add_decorated(Node node) {
    Node inner = node.field("definition");
    if (inner.is("class_definition")) return add_class(inner, false);
    Definition definition = function(inner);
    for (Node part : node.named_children())
      if (part.is("decorator") && last_part(decorator_path(part)) == "perf_report") return;
    if (is_jitted(node, aliases_)) definition.kind = Definition::Kind::kernel;
    definition.knows_parameters = false;
    add(std::move(definition));
  }

  // A plain base, such as the `str` of `class Mode(str, Enum)`, decides against a module.
  bool has_module_base(Node node) const {
    bool found = false;
    for (Node base : node.field("superclasses").named_children()) {
      auto path = dotted_path(base);
      if (!path) continue;
      const Definition* own = find_definition(found_, *path);
      bool plain = own ? own->kind != Definition::Kind::module
                       : std::ranges::find(plain_, *path) != plain_.end() ||
                             is_plain_base(last_part(resolved(aliases_, *path)));
      if (plain) return false;
      found = true;
    }
    return found;
  }

  void add_class(Node node, bool is_bare) {
    Definition definition{std::string(node.field("name").text()), Definition::Kind::module};
    if (!has_module_base(node)) {
      plain_.push_back(definition.name);
      return;
    }
    for (Node statement : node.field("body").named_children())
      if (is_bare && statement.is("function_definition") && statement.field("name").text() == "forward")
        take_parameters(statement.field("parameters"), 1, definition);
    add(std::move(definition));
  }

  // `name = Class.apply` and `name = lambda ...` are functions.
  void add_assignment(Node node) {
    Node left = node.field("left");
    Node right = node.field("right");
    if (!left.is("identifier")) return;
    Definition definition{std::string(left.text()), Definition::Kind::function};
    if (right.is("lambda")) {
      take_parameters(right.field("parameters"), 0, definition);
    } else if (!right.is("attribute") || right.field("attribute").text() != "apply") {
      if (right.is("call") || right.is("identifier") || right.is("attribute"))
        possible_.push_back(std::move(definition.name));
      return;
    }
    add(std::move(definition));
  }

  void add(Definition definition) {
    auto known = std::ranges::find(found_, definition.name, &Definition::name);
    if (known == found_.end()) {
      found_.push_back(std::move(definition));
      return;
    }
    definition.knows_parameters = false;  // either of the two may hold
    *known = std::move(definition);
  }

  Aliases aliases_;
  std::vector<Definition> found_;
  std::vector<std::string> possible_;  // names of values that may be functions
  std::vector<std::string> plain_;     // classes that are no modules
};

}  // namespace
}  // namespace syntax

bool Definition::is_public() const {
  return !name.starts_with('_') && !name.starts_with("test_") &&
         !is_one_of(name, {"main", "get_inputs", "get_init_inputs"});
}

std::string Definition::signature() const {
  std::string text;
  bool by_position = true;
  for (const Parameter& each : parameters) {
    if (by_position && !each.by_position) text += text.empty() ? "*" : ", *";
    by_position = each.by_position;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", each.name, each.is_required ? "" : "=...");
  }
  return fmt::format("{}({})", name, text);
}

std::vector<Definition> outline(std::string_view code) {
  syntax::Tree tree(code);
  if (tree.is_null()) return {};
  return syntax::Outliner(tree.root()).run(tree.root());
}

std::vector<std::string> possible_functions(std::string_view code) {
  syntax::Tree tree(code);
  if (tree.is_null()) return {};
  syntax::Outliner outliner(tree.root());
  outliner.run(tree.root());
  auto names = outliner.possible();
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with('_') || std::isupper(static_cast<unsigned char>(name.front())) != 0;
  });
  return names;
}

std::vector<Definition> callables(const std::vector<Definition>& definitions) {
  std::vector<Definition> found;
  std::ranges::copy_if(definitions, std::back_inserter(found), [](const Definition& each) {
    return each.is_public() && each.kind != Definition::Kind::kernel;
  });
  return found;
}

const Definition* find_definition(const std::vector<Definition>& definitions, std::string_view name) {
  auto found = std::ranges::find(definitions, name, &Definition::name);
  return found == definitions.end() ? nullptr : &*found;
}

std::string names_in_words(const std::vector<Definition>& definitions) {
  constexpr std::size_t most = 12;
  std::string text;
  std::size_t count = 0;
  for (const Definition& each : definitions) {
    if (!each.is_public() || ++count > most) continue;
    text += fmt::format("{}`{}`{}", text.empty() ? "" : ", ", each.name,
                        each.kind == Definition::Kind::kernel ? " (a Triton kernel)" : "");
  }
  if (count > most) text += fmt::format(" and {} more", count - most);
  return text.empty() ? "nothing that can be called" : text;
}

}  // namespace kw
