#include "dataset/extract/python_parse.h"

#include <algorithm>
#include <span>

#include "base/core/text.h"
#include "code/syntax/static_findings.h"
#include "dataset/extract/python_definition.h"
#include "dataset/extract/source_walk.h"

namespace kw::harvest {
namespace {

// Whether a node of this type contains statements and has no scope of its own.
bool holds_statements(std::string_view type) {
  return is_one_of(type,
                   {"module", "ERROR", "if_statement", "elif_clause", "else_clause", "try_statement",
                    "except_clause", "except_group_clause", "finally_clause", "with_statement", "block"});
}

bool is_statement(std::string_view type) {
  return type.ends_with("_statement") || type.ends_with("_definition");
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

class Survey {
 public:
  Survey(const syntax::Tree& tree, ParsedFile& file) : code_(file.source.bytes), python_(file.python) {
    Walk walk(tree.root(), code_);
    for (bool more = walk.next(); more;) {
      Node node = walk.node();
      bool counts = node.is_named() && !node.is("comment");
      bool into = counts && holds_statements(node.type());
      if (counts) {
        if (walk.depth() == 1) open_top(node);
        if (!into) leaf(node, walk);
      }
      more = walk.next(into);
    }
    close_top();
    std::ranges::sort(python_.guard_names);
    auto again = std::ranges::unique(python_.guard_names);
    python_.guard_names.erase(again.begin(), again.end());
    python_.of_module = python_.statements.size();
    for (const auto& [function, top] : makers_) look_into(function, top);
  }

 private:
  void open_top(Node node) {
    close_top();
    python_.tops.push_back({.span = {node.begin(), node.end()},
                            .first = python_.statements.size(),
                            .last = python_.statements.size(),
                            .uses = {}});
  }

  void close_top() {
    if (!python_.tops.empty()) python_.tops.back().last = python_.statements.size();
  }

  void leaf(Node node, const Walk& walk) {
    Names names = names_of(node, code_);
    auto& nested = python_.nested_imports;
    nested.insert(nested.end(), names.nested_imports.begin(), names.nested_imports.end());
    if (!is_statement(node.type())) {
      append(python_.guard_names, names.defines);
      bool alias = node.is("identifier") && walk.field() == "alias";
      append(alias ? python_.guard_names : python_.tops.back().uses, names.uses);
      return;
    }
    if (node.type().ends_with("_definition") && makes_kernels(definition_of(node)))
      makers_.emplace_back(definition_of(node), python_.tops.size() - 1);
    add(node, std::move(names), python_.tops.size() - 1);
  }

  void add(Node node, Names names, std::size_t top) {
    Statement statement{.span = {node.begin(), node.end()},
                        .top = top,
                        .defines = std::move(names.defines),
                        .uses = std::move(names.uses),
                        .imports = std::move(names.imports)};
    statement.is_definition = node.type().ends_with("_definition");
    python_.statements.push_back(std::move(statement));
  }

  static bool makes_kernels(Node definition) {
    return definition.field("body").text().find(".jit") != std::string_view::npos;
  }

  void look_into(Node function, std::size_t top) {
    Walk walk(function.field("body"), code_);
    for (bool more = walk.next(); more;) {
      Node node = walk.node();
      bool into = node.is_named() && holds_statements(node.type());
      if (!into && node.is_named() && is_statement(node.type())) add(node, names_of(node, code_), top);
      more = walk.next(into);
    }
  }

  std::string_view code_;
  Python& python_;
  std::vector<std::pair<Node, std::size_t>> makers_;  // functions, with their top-level statements
};

}  // namespace

void survey_python(const syntax::Tree& tree, ParsedFile& file) {
  Survey(tree, file);
}

Aliases aliases_of(const Python& python) {
  Aliases aliases;
  auto add = [&](const Import& import) {
    if (import.local.empty()) return;
    aliases[import.local] = import.name.empty() ? import.module : import.module + "." + import.name;
  };
  for (const Import& import : python.nested_imports) add(import);
  for (const Statement& statement : python.statements)
    for (const Import& import : statement.imports) add(import);
  return aliases;
}

std::string resolved(const Aliases& aliases, std::string_view path) {
  std::size_t dot = path.find('.');
  auto found = aliases.find(path.substr(0, dot));
  if (found == aliases.end()) return std::string(path);
  return found->second + (dot == path.npos ? "" : std::string(path.substr(dot)));
}

namespace {

// Each enclosing unit repeats the text of a nested unit.
constexpr std::size_t deepest_unit = 6;

std::optional<std::string> path_of(Node expression) {
  if (expression.is("call")) expression = expression.field("function");
  return syntax::dotted_path(expression);
}

// Whether the path means triton.jit. A jit of unknown origin counts if its path contains "triton", since
// other compilers also have a jit.
bool is_triton_jit(std::string_view path) {
  if (path == "triton_jit") return true;
  if (path != "jit" && !path.ends_with(".jit")) return false;
  return path.find("triton") != path.npos && path.find("gluon") == path.npos;
}

bool is_torch(std::string_view path) {
  return path.starts_with("torch.");
}
bool is_triton(std::string_view path) {
  return path == "triton" || path.starts_with("triton.");
}

bool computes(std::string_view path) {
  return is_torch(path) && !syntax::computes_nothing(path);
}

// Such as rms_norm_ref, naive_attention, torch_gelu.
bool is_named_reference(std::string_view name) {
  for (std::string_view word : {"ref", "reference", "naive", "torch", "pytorch"}) {
    std::string prefix = std::string(word) + "_", suffix = "_" + std::string(word);
    if (name.starts_with(prefix) || name.ends_with(suffix)) return true;
  }
  return false;
}

class UnitFinder {
 public:
  UnitFinder(const syntax::Tree& tree, ParsedFile& file)
      : tree_(tree), file_(file), code_(file.source.bytes), aliases_(aliases_of(file.python)) {}

  void run() {
    Walk walk(tree_.root(), code_);
    std::vector<std::size_t> open;  // ends of the enclosing units
    bool decorated = false;
    do {
      Node node = walk.node();
      while (!open.empty() && open.back() <= node.begin()) open.pop_back();
      bool whole = node.is("decorated_definition") ||
                   (!decorated && (node.is("function_definition") || node.is("class_definition")));
      if (!node.is("decorator") && node.is_named()) decorated = node.is("decorated_definition");
      if (whole && open.size() < deepest_unit && consider(node, open.empty())) open.push_back(node.end());
    } while (walk.next());
  }

 private:
  bool consider(Node whole, bool outside) {
    if (definition_of(whole).has_error()) return false;
    if (whole.is("decorated_definition") && is_jitted(whole, aliases_)) {
      add(whole, corpus::UnitKind::triton);
      return true;
    }
    if (!outside || !stands_at_module(whole) || !is_for_torch(whole)) return false;
    add(whole, corpus::UnitKind::torch);
    file_.units.back().only_if_torch = true;
    return false;
  }

  // Whether the definition is a statement at module level.
  bool stands_at_module(Node whole) const {
    std::span statements(file_.python.statements.data(), file_.python.of_module);
    auto found = std::ranges::lower_bound(statements, whole.begin(), {},
                                          [](const Statement& statement) { return statement.span.begin; });
    return found != statements.end() && found->span.begin == whole.begin();
  }

  bool is_for_torch(Node whole) const {
    Node definition = definition_of(whole);
    std::string_view name = definition.field("name").text();
    if (definition.is("class_definition")) return is_module(definition);
    if (name.starts_with("test_") || definition.field("parameters").named_children().empty()) return false;
    return torch_only(definition, is_named_reference(name) ? 1 : 2);
  }

  bool is_module(Node definition) const {
    bool module = false;
    for (Node base : definition.field("superclasses").named_children())
      if (auto path = syntax::dotted_path(base))
        module = module || resolved(aliases_, *path) == "torch.nn.Module" || path->ends_with("nn.Module");
    if (!module) return false;
    return std::ranges::any_of(
               definition.field("body").named_children(),
               [](Node member) { return definition_of(member).field("name").text() == "forward"; }) &&
           torch_only(definition, 0);
  }

  // Whether it does not use triton, and has at least `fewest` calls that compute with torch.
  bool torch_only(Node definition, std::size_t fewest) const {
    std::size_t seen = 0;
    Walk walk(definition, code_);
    bool into = true;
    do {
      Node node = walk.node();
      into = !node.is("attribute");
      if (node.is("call")) {
        auto path = path_of(node);
        if (path && computes(resolved(aliases_, *path))) ++seen;
        if (node.field("function").is("subscript")) return false;
      }
      if (node.is("identifier") || node.is("attribute")) {
        auto path = syntax::dotted_path(node);
        if (path && is_triton(resolved(aliases_, *path))) return false;
        into = !path;
      }
    } while (walk.next(into));
    return seen >= fewest;
  }

  void add(Node whole, corpus::UnitKind kind) {
    PendingUnit pending = python_definition(whole, code_);
    pending.unit.kind = kind;
    pending.top = top_of(whole.begin());
    file_.units.push_back(std::move(pending));
  }

  std::size_t top_of(std::size_t at) const {
    const auto& tops = file_.python.tops;
    auto after = std::ranges::upper_bound(tops, at, {}, [](const Top& top) { return top.span.begin; });
    return after == tops.begin() ? 0 : static_cast<std::size_t>(after - tops.begin()) - 1;
  }

  const syntax::Tree& tree_;
  ParsedFile& file_;
  std::string_view code_;
  Aliases aliases_;
};

}  // namespace

bool is_jitted(syntax::Node decorated, const Aliases& aliases) {
  if (!decorated.field("definition").is("function_definition")) return false;
  return std::ranges::any_of(decorated.named_children(), [&](Node child) {
    if (!child.is("decorator")) return false;
    auto parts = child.named_children();
    if (parts.empty()) return false;
    auto path = path_of(parts.front());
    return path && is_triton_jit(resolved(aliases, *path));
  });
}

void find_python_units(const syntax::Tree& tree, ParsedFile& file) {
  UnitFinder(tree, file).run();
}

}  // namespace kw::harvest
