#include "harvest/python_names.h"

#include <algorithm>
#include <set>

namespace kw::harvest {
namespace {

// What is nested deeper counts as of the scope there.
constexpr std::size_t deepest_scope = 64;

struct Scope {
  std::size_t parent = 0;
  std::size_t depth = 0;
  std::set<std::string, std::less<>> bound;
  std::set<std::string, std::less<>> global;  // by a global or nonlocal statement
  std::set<std::string, std::less<>> used;
};

// What is known of a node that the walk is below.
struct Frame {
  std::string_view type;
  std::size_t scope = 0;
  bool binds = false;  // identifiers below are targets
};

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

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

  // Whether to go below. Pushes the node's frame where so.
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

  // Defaults and annotations of parameters belong to the scope around the function.
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

}  // namespace kw::harvest
