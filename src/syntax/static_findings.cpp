#include "syntax/static_findings.h"

#include "syntax/passes.h"
#include "syntax/tree.h"

namespace kw {
namespace {

// Honest kernels have a few kilobytes; what is longer is not worth our time.
constexpr std::size_t longest_examined = std::size_t{4} << 20;

}  // namespace

StaticReport examine(std::string_view code) {
  StaticReport report;
  if (code.size() > longest_examined) {
    report.open = true;
    report.findings.push_back({"the source is too long to be examined", 0});
    return report;
  }
  syntax::Tree tree(code);
  report.has_error = tree.has_error();
  syntax::Aliases aliases = syntax::find_aliases(tree.root());
  syntax::find_bindings(tree.root(), report);
  syntax::find_forbidden(tree.root(), aliases, report);
  syntax::find_jitted(tree.root(), aliases, report);
  return report;
}

bool may_define(const StaticReport& report, std::string_view name) {
  return report.open || report.has_error || report.names.contains(std::string(name));
}

}  // namespace kw
