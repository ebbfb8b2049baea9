#include "dataset/extract/python_definition.h"

#include <algorithm>
#include <set>

#include "base/core/text.h"
#include "dataset/extract/source_walk.h"

namespace kw::harvest {
namespace {

// Deeper scopes are merged with the scope at this depth.
constexpr std::size_t deepest_scope = 64;

struct Scope {
  std::size_t parent = 0;
  std::size_t depth = 0;
  std::set<std::string, std::less<>> bound;
  std::set<std::string, std::less<>> global;  // by a global or nonlocal statement
  std::set<std::string, std::less<>> used;
};

// An ancestor of the current node.
struct Frame {
  std::string_view type;
  std::size_t scope = 0;
  bool binds = false;  // identifiers in it are assignment targets
};

bool opens_scope(std::string_view type) {
  return is_one_of(type, {"function_definition", "lambda", "class_definition", "list_comprehension",
                          "set_comprehension", "dictionary_comprehension", "generator_expression"});
}

bool is_pattern(std::string_view type) {
  return is_one_of(type, {"pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern",
                          "dictionary_splat_pattern", "as_pattern_target"});
}

std::string_view first_part(std::string_view path) {
  return path.substr(0, path.find('.'));
}

// `import a.b` binds a.
Import import_of(Node name, std::string_view module, bool from) {
  Import import;
  bool aliased = name.is("aliased_import");
  std::string_view what = aliased ? name.field("name").text() : name.text();
  if (from) {
    import.name = import.local = what;
    import.module = module;
  } else {
    std::string_view bound = aliased ? what : first_part(what);
    import.module = import.local = bound;
    if (bound != what) import.submodule = what;
  }
  if (aliased) import.local = name.field("alias").text();
  return import;
}

std::vector<Import> imports_of(Node statement) {
  std::vector<Import> imports;
  bool from = statement.is("import_from_statement");
  if (statement.is("future_import_statement")) return imports;
  Node module = statement.field("module_name");
  for (Node name : statement.named_children()) {
    if (from && ts_node_eq(name.raw(), module.raw())) continue;
    if (name.is("wildcard_import"))
      imports.push_back({.local = {}, .module = std::string(module.text()), .name = "*", .submodule = {}});
    else if (name.is("aliased_import") || name.is("dotted_name"))
      imports.push_back(import_of(name, module.text(), from));
  }
  return imports;
}

class NameWalk {
 public:
  NameWalk(Node piece, std::string_view code) : walk_(piece, code) { scopes_.emplace_back(); }

  Names run() {
    bool into = true;
    do {
      frames_.resize(walk_.depth());
      into = walk_.node().is_named() && enter(walk_.node());
    } while (walk_.next(into));
    return result();
  }

 private:
  const Frame* parent() const { return frames_.empty() ? nullptr : &frames_.back(); }

  // Whether to visit the node's children. If true, pushes the node's frame.
  bool enter(Node node) {
    std::string_view type = node.type();
    std::size_t scope = scope_of(type);
    if (type == "identifier") {
      name(std::string(node.text()), scope);
      return false;
    }
    if (is_one_of(type, {"import_statement", "import_from_statement", "future_import_statement"})) {
      import(node, scope);
      return false;
    }
    if (type == "attribute" && (parent() == nullptr || parent()->type != "attribute")) {
      if (auto path = syntax::dotted_path(node)) {
        scopes_[scope].used.insert(*path);
        return false;
      }
    }
    Frame frame{.type = type, .scope = scope, .binds = binds(type)};
    if (opens_scope(type) && scopes_[scope].depth < deepest_scope) {
      std::size_t depth = scopes_[scope].depth + 1;
      scopes_.push_back({.parent = scope, .depth = depth, .bound = {}, .global = {}, .used = {}});
      frame.scope = scopes_.size() - 1;
    }
    frames_.push_back(frame);
    return true;
  }

  bool binds(std::string_view type) const {
    if (is_pattern(type)) return true;
    return parent() != nullptr && parent()->binds &&
           is_one_of(type, {"tuple", "list", "parenthesized_expression", "list_splat"});
  }

  // Defaults and annotations of parameters belong to the enclosing scope.
  std::size_t scope_of(std::string_view type) const {
    const Frame* above = parent();
    if (above == nullptr) return 0;
    bool parameter =
        is_one_of(above->type, {"default_parameter", "typed_default_parameter", "typed_parameter"});
    bool outside = (parameter && (type == "type" || walk_.field() == "value")) ||
                   (above->type == "function_definition" && type == "type");
    return outside ? scopes_[above->scope].parent : above->scope;
  }

  void name(std::string text, std::size_t scope) {
    const Frame* above = parent();
    std::string_view type = above == nullptr ? std::string_view{} : above->type;
    std::string_view field = above == nullptr ? std::string_view{} : walk_.field();
    if ((type == "attribute" && field == "attribute") || (type == "keyword_argument" && field == "name"))
      return;
    if ((type == "function_definition" || type == "class_definition") && field == "name") {
      scopes_[scopes_[scope].parent].bound.insert(std::move(text));
    } else if (type == "global_statement" || type == "nonlocal_statement") {
      scopes_[scope].global.insert(std::move(text));
    } else if (is_target(type, field)) {
      if (type == "augmented_assignment") scopes_[scope].used.insert(text);
      scopes_[scope].bound.insert(std::move(text));
    } else {
      scopes_[scope].used.insert(std::move(text));
    }
  }

  bool is_target(std::string_view type, std::string_view field) const {
    if (parent() != nullptr && parent()->binds) return true;
    if (is_one_of(type, {"parameters", "lambda_parameters", "typed_parameter"})) return true;
    if (is_one_of(type, {"default_parameter", "typed_default_parameter", "named_expression"}))
      return field == "name";
    if (type == "except_clause" || type == "except_group_clause") return field == "alias";
    return field == "left" &&
           is_one_of(type, {"assignment", "augmented_assignment", "for_statement", "for_in_clause"});
  }

  void import(Node statement, std::size_t scope) {
    auto& list = scope == 0 ? names_.imports : names_.nested_imports;
    for (Import& import : imports_of(statement)) {
      if (!import.local.empty()) scopes_[scope].bound.insert(import.local);
      list.push_back(std::move(import));
    }
  }

  Names result() {
    for (std::size_t i = scopes_.size(); i-- > 1;) {
      Scope& scope = scopes_[i];
      for (const std::string& use : scope.used) {
        std::string_view root = first_part(use);
        if (!scope.bound.contains(root) || scope.global.contains(root))
          scopes_[scope.parent].used.insert(use);
      }
      scope.used.clear();
    }
    names_.defines.assign(scopes_[0].bound.begin(), scopes_[0].bound.end());
    names_.uses.assign(scopes_[0].used.begin(), scopes_[0].used.end());
    return std::move(names_);
  }

  Walk walk_;
  std::vector<Scope> scopes_;
  std::vector<Frame> frames_;
  Names names_;
};

}  // namespace

Names names_of(Node piece, std::string_view code) {
  return NameWalk(piece, code).run();
}

namespace {

using corpus::Parameter;

// Whether the rest of the line is empty or a comment.
bool line_is_done(std::string_view code, std::size_t at) {
  std::string_view rest = trim(code.substr(at, line_end(code, at) - at));
  return rest.empty() || rest.front() == '#';
}

// The end of the signature's line if no code follows on it; else the end of the colon.
std::size_t signature_end(Node definition, std::string_view code) {
  Node body = definition.field("body");
  std::size_t colon = definition.begin();
  Walk walk(definition, code);
  for (bool more = walk.next(); more; more = walk.next(false))
    if (walk.node().is(":")) colon = walk.node().end();
  if (!body.is_null() && line_is_done(code, colon)) return line_end(code, colon);
  return colon;
}

// The end of the definition, including a comment after it on its last line.
std::size_t text_end(Node whole, std::string_view code) {
  std::size_t end = whole.end();
  while (end > whole.begin() &&
         (code[end - 1] == '\n' || code[end - 1] == '\r' || code[end - 1] == ' ' || code[end - 1] == '\t'))
    --end;
  if (!line_is_done(code, end)) return end;
  std::string_view rest = code.substr(end, line_end(code, end) - end);
  return end + rest.find_last_not_of(" \t\r\n") + 1;  // npos + 1 is 0
}

Parameter python_parameter(Node node) {
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

std::vector<Parameter> python_parameters(Node function) {
  std::vector<Parameter> result;
  for (Node node : function.field("parameters").named_children())
    if (!node.is("keyword_separator") && !node.is("positional_separator") && !node.is("comment"))
      result.push_back(python_parameter(node));
  return result;
}

std::vector<Parameter> parameters_of_forward(Node definition) {
  for (Node member : definition.field("body").named_children()) {
    Node method = definition_of(member);
    if (!method.is("function_definition") || method.field("name").text() != "forward") continue;
    auto result = python_parameters(method);
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

std::vector<std::string> python_calls(Node whole, std::string_view code) {
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
  unit.source.span = {whole.begin(), text_end(whole, code)};
  unit.text = code.substr(unit.source.span.begin, unit.source.span.end - unit.source.span.begin);
  unit.signature_bytes = std::min(signature_end(definition, code), unit.source.span.end) - whole.begin();
  if (whole.is("decorated_definition"))
    for (Node node : whole.named_children())
      if (node.is("decorator")) {
        unit.decorators.emplace_back(trim(node.text()));
        pending.decorators.push_back({decorator_name(node), names_of(node, code).uses});
      }
  unit.parameters =
      definition.is("class_definition") ? parameters_of_forward(definition) : python_parameters(definition);
  unit.doc = docstring(definition);
  if (unit.doc.empty()) unit.doc = comment_above(code, whole.begin(), "#");
  unit.calls = python_calls(whole, code);
  pending.uses = names_of(definition, code).uses;
  return pending;
}

}  // namespace kw::harvest
