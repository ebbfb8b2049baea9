#include "verify/statics.h"

#include <fmt/format.h>

#include "syntax/static_findings.h"

namespace kw::verify {
namespace {

constexpr std::size_t max_source_bytes = std::size_t{4} << 20;

void end_at_static(Verdict& verdict, ErrorClass error_class, std::string error, std::size_t line) {
  verdict.stage = Stage::static_;
  verdict.status = Status::failed;
  verdict.fault = Fault::kernel;
  verdict.error_class = error_class;
  verdict.error = std::move(error);
  if (line == 0) return;
  ErrorDetail detail;
  detail.file = "kernel.py";
  detail.line = static_cast<std::int64_t>(line);
  verdict.error_detail = std::move(detail);
}

std::vector<std::string> entries(const Job& job) {
  if (!job.candidate.entry.empty()) return {job.candidate.entry};
  std::vector<std::string> names{"ModelNew", "triton_kernel_wrapper"};
  if (!job.task.entry_point.empty()) names.push_back(job.task.entry_point + "New");
  return names;
}

// <Name>New may stand for a reference class whose name is not known before it is loaded.
bool may_have_entry(const StaticReport& report, const Job& job) {
  for (const std::string& name : entries(job))
    if (may_define(report, name)) return true;
  if (!job.candidate.entry.empty()) return false;
  for (const std::string& name : report.names)
    if (name.ends_with("New")) return true;
  return false;
}

}  // namespace

bool examine_statically(Verdict& verdict, const Job& job) {
  if (job.candidate.code.size() > max_source_bytes) {
    end_at_static(verdict, ErrorClass::forbidden,
                  fmt::format("the source has {} bytes; at most {} are looked through",
                              job.candidate.code.size(), max_source_bytes),
                  0);
    return true;
  }
  StaticReport report = examine(job.candidate.code);
  if (!report.forbidden.empty()) {
    const StaticFinding& first = report.forbidden.front();
    end_at_static(verdict, ErrorClass::forbidden,
                  fmt::format("line {}: {} is forbidden", first.line, first.what), first.line);
    return true;
  }
  // What does not parse has no names to look for: Python's own compile will say what is wrong.
  if (report.has_error || may_have_entry(report, job)) return false;
  end_at_static(verdict, ErrorClass::missing_entry,
                fmt::format("the candidate defines none of: {}", fmt::join(entries(job), ", ")), 0);
  return true;
}

}  // namespace kw::verify
