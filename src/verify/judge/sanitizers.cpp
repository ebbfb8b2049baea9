#include "verify/judge/sanitizers.h"

#include <fmt/format.h>

#include <utility>

namespace kw::verify {
namespace {

SanitizerCheck not_run(Sanitizer check, std::string why) {
  return {.check = check, .outcome = SanitizerOutcome::not_run, .why_not = std::move(why)};
}

}  // namespace

ErrorClass class_of(Sanitizer check) {
  return check == Sanitizer::racecheck ? ErrorClass::race : ErrorClass::out_of_bounds;
}

Blame blame_sanitized(Sanitizer check, const SanitizerFinding& finding) {
  std::string error = finding.kernel ? fmt::format("kernel {}", *finding.kernel) : "a kernel";
  error += ": " + finding.kind;
  if (finding.tensor) error += fmt::format(" of {}", *finding.tensor);
  if (finding.place) error += fmt::format(" at {}", *finding.place);
  error += fmt::format(" (--sanitize {})", to_string(check));
  const bool is_race = check == Sanitizer::racecheck;
  return {.stage = Stage::run,
          .status = is_race ? Status::incorrect : Status::failed,
          .fault = Fault::kernel,
          .error_class = class_of(check),
          .error = std::move(error),
          .times_void = fmt::format("--sanitize {} found a fault", to_string(check))};
}

async::Task<Sanitizers::Found> Sanitizers::run() {
  co_await calls_.end();
  Found found;
  for (Sanitizer which : case_.settings.sanitize) {
    Checked checked = co_await check(which);
    co_await calls_.end();
    if (!checked) {
      found.ended = std::move(checked.error());
      break;
    }
    found.checks.push_back(std::move(*checked));
    const SanitizerCheck& last = found.checks.back();
    if (last.outcome != SanitizerOutcome::found) continue;
    found.ended = blame_sanitized(which, last.findings.front());
    break;
  }
  co_return found;
}

async::Task<Sanitizers::Checked> Sanitizers::check(Sanitizer which) {
  if (which == Sanitizer::bounds) return check_bounds();
  return check_by_tool(which);
}

// Without a GPU the interpreter refuses every access beyond a tensor, and a page that faults follows each
// input in every trial.
async::Task<Sanitizers::Checked> Sanitizers::check_bounds() {
  if (case_.settings.device == Device::cpu)
    co_return SanitizerCheck{.check = Sanitizer::bounds, .outcome = SanitizerOutcome::clean};
  co_return not_run(Sanitizer::bounds, "this version cannot on a GPU");
}

async::Task<Sanitizers::Checked> Sanitizers::check_by_tool(Sanitizer tool) {
  if (case_.settings.device == Device::cpu) co_return not_run(tool, "needs a GPU");
  co_return not_run(tool, "this version cannot run compute-sanitizer");
}

}  // namespace kw::verify
