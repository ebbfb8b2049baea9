#include "syntax/static_findings.h"

#include <algorithm>

#include "syntax/passes.h"
#include "syntax/tree.h"

namespace kw {
namespace {

// Honest kernels have a few kilobytes; what is longer is not worth our time.
constexpr std::size_t longest_examined = std::size_t{4} << 20;

std::size_t first_error_line(syntax::Node root) {
  std::size_t line = 0;
  syntax::walk(root, [&](syntax::Node node) {
    if (line != 0 || !ts_node_has_error(node.raw())) return false;
    if (ts_node_is_error(node.raw()) || ts_node_is_missing(node.raw())) line = node.line();
    return line == 0;
  });
  return line;
}

}  // namespace

StaticReport examine(std::string_view code) {
  StaticReport report;
  if (code.size() > longest_examined) {
    report.open = true;
    report.findings.push_back({"the source is too long to be examined", 0});
    return report;
  }
  syntax::Tree tree(code);
  if (tree.is_null()) {
    report.forbidden.push_back({"source that takes seconds to parse", 1});
    return report;
  }
  report.has_error = tree.has_error();
  if (report.has_error) report.error_line = first_error_line(tree.root());
  syntax::Aliases aliases = syntax::find_aliases(tree.root());
  syntax::find_bindings(tree.root(), report);
  syntax::find_forbidden(tree.root(), aliases, report);
  syntax::find_jitted(tree.root(), aliases, report);
  if (!report.has_error) syntax::find_torch_on_values(tree.root(), aliases, report);
  return report;
}

bool may_define(const StaticReport& report, std::string_view name) {
  return report.open || report.has_error || report.names.contains(std::string(name));
}

bool may_have_entry(const StaticReport& report) {
  return may_define(report, "ModelNew") || may_define(report, "triton_kernel_wrapper") ||
         std::ranges::any_of(report.names, [](const std::string& name) { return name.ends_with("New"); });
}

}  // namespace kw
