#include <algorithm>
#include <span>

#include "harvest/python_definition.h"
#include "harvest/python_parse.h"
#include "harvest/text_lines.h"
#include "syntax/torch_names.h"

namespace kw::harvest {
namespace {

// A unit inside a unit is written out again with each of those around it.
constexpr std::size_t deepest_unit = 6;

std::optional<std::string> path_of(Node expression) {
  if (expression.is("call")) expression = expression.field("function");
  return syntax::dotted_path(expression);
}

// triton.jit by any name. A jit without a known origin counts where its path speaks of triton; other
// compilers have a jit of their own.
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

// rms_norm_ref, naive_attention, torch_gelu.
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
    std::vector<std::size_t> open;  // ends of the units around
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

  // One of the module's own statements.
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

  // Nothing of triton's in it, and at least so many calls that compute with torch.
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
