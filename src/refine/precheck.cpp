#include "refine/precheck.h"

#include <fmt/format.h>

#include "syntax/static_findings.h"

namespace kw::refine {
namespace {

Verdict refused(Stage stage, ErrorClass error_class, std::string error, std::size_t line = 0) {
  Verdict verdict;
  verdict.status = Status::failed;
  verdict.fault = Fault::kernel;
  verdict.stage = stage;
  verdict.error_class = error_class;
  verdict.error = std::move(error);
  verdict.timing.why_null = "the candidate was not timed";
  if (line == 0) return verdict;
  verdict.error_detail.emplace();
  verdict.error_detail->file = "kernel.py";
  verdict.error_detail->line = static_cast<std::int64_t>(line);
  return verdict;
}

std::optional<Verdict> verdict_on(const std::string& code, const StaticReport& report, bool cut_short) {
  if (report.has_error) {
    // Python's own compile decides what a syntax error is; two that see the same gap leave no doubt.
    if (auto gap = find_unbalanced(code))
      return refused(Stage::parse, ErrorClass::syntax_error,
                     fmt::format("line {}: {}{}", gap->line, gap->what,
                                 cut_short ? "; the answer ended at its length limit" : ""),
                     gap->line);
    return {};
  }
  if (!report.forbidden.empty()) {
    const StaticFinding& first = report.forbidden.front();
    return refused(Stage::static_, ErrorClass::forbidden,
                   fmt::format("line {}: {} is forbidden", first.line, first.what), first.line);
  }
  if (!may_have_entry(report))
    return refused(Stage::static_, ErrorClass::missing_entry,
                   "the code defines neither triton_kernel_wrapper nor ModelNew");
  if (!report.torch_on_values.empty()) {
    const StaticFinding& first = report.torch_on_values.front();
    return refused(Stage::static_, ErrorClass::compile_error,
                   fmt::format("line {}: {}", first.line, first.what), first.line);
  }
  return {};
}

}  // namespace

Precheck check_before(const std::string& code, bool cut_short) {
  if (code.find_first_not_of(" \t\r\n") == std::string::npos)
    return {refused(Stage::parse, ErrorClass::missing_entry,
                    cut_short ? "the answer ended at its length limit before it held any code"
                              : "the answer holds no code"),
            ""};
  StaticReport report = examine(code);
  return {verdict_on(code, report, cut_short), report.jitted.empty() ? "" : report.jitted.front()};
}

}  // namespace kw::refine
