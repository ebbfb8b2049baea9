#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "syntax/passes.h"

namespace kw::syntax {
namespace {

// triton.jit, triton.autotune(...), jit from anywhere but other compilers that have a jit of their own.
bool is_triton_decorator(std::string_view path) {
  std::string_view last = path.substr(path.rfind('.') + 1);
  if (last != "jit" && last != "autotune" && last != "heuristics") return false;
  std::string_view root = path.substr(0, path.find('.'));
  return root != "torch" && root != "numba" && root != "jax";
}

bool is_triton_decorator(Node expression, const Aliases& aliases) {
  if (expression.is("call")) expression = expression.field("function");
  auto path = dotted_path(expression);
  return path && is_triton_decorator(resolved(aliases, *path));
}

void find_torch_calls(Node function, const Aliases& aliases, StaticReport& report) {
  std::string name(function.field("name").text());
  walk(function.field("body"), [&](Node node) {
    if (!node.is("call")) return true;
    auto path = dotted_path(node.field("function"));
    if (path && resolved(aliases, *path).starts_with("torch."))
      report.findings.push_back(
          {fmt::format("calls {} inside the jitted function {}", *path, name), node.line()});
    return true;
  });
}

// Names that are used as name[grid](...), name(...), name.run(...) or handed on.
std::set<std::string> names_used(Node root) {
  std::set<std::string> used;
  walk(root, [&](Node node) {
    if (node.is("function_definition")) {
      // Its own name is no use of it.
      walk(node.field("body"), [&](Node inner) {
        if (inner.is("identifier")) used.emplace(inner.text());
        return true;
      });
      return false;
    }
    if (node.is("identifier")) used.emplace(node.text());
    return true;
  });
  return used;
}

bool is_native(std::string_view path) {
  return path == "load_inline" || path.ends_with(".load_inline") || path.find("cpp_extension") != path.npos;
}

void find_native_code(Node root, const Aliases& aliases, StaticReport& report) {
  for (const auto& [name, path] : aliases)
    if (is_native(path)) report.native_code = true;
  walk(root, [&](Node node) {
    if (!node.is("call")) return true;
    auto path = dotted_path(node.field("function"));
    if (path && is_native(resolved(aliases, *path))) report.native_code = true;
    return true;
  });
}

}  // namespace

bool is_jitted(Node decorated, const Aliases& aliases) {
  if (!decorated.field("definition").is("function_definition")) return false;
  return std::ranges::any_of(decorated.named_children(), [&](Node child) {
    if (!child.is("decorator")) return false;
    auto parts = child.named_children();
    return !parts.empty() && is_triton_decorator(parts.front(), aliases);
  });
}

void find_jitted(Node root, const Aliases& aliases, StaticReport& report) {
  std::set<std::string> used = names_used(root);
  walk(root, [&](Node node) {
    if (!node.is("decorated_definition") || !is_jitted(node, aliases)) return true;
    Node function = node.field("definition");
    std::string name(function.field("name").text());
    report.jitted.push_back(name);
    find_torch_calls(function, aliases, report);
    if (!used.contains(name))
      report.findings.push_back({fmt::format("the jitted function {} is never used", name), function.line()});
    return true;
  });
  find_native_code(root, aliases, report);
  if (report.jitted.empty() && !report.native_code)
    report.findings.push_back({"the source has no @triton.jit function", 0});
}

}  // namespace kw::syntax
