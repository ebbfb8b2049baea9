#include "verify/judge/sanitizers.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace kw::verify {
namespace {

constexpr std::size_t most_edges = 8;  // each costs 4 MiB beside its own bytes
constexpr const char* beyond_the_end = "access beyond the end";

// The device refused an address. A misaligned one is no fault of bounds: only the copies lie at odd places.
bool is_fault(const Blame& blame) {
  return blame.error_class == ErrorClass::illegal_memory_access && blame.fault == Fault::kernel &&
         !blame.error.contains("misaligned");
}

SanitizerCheck not_run(Sanitizer check, std::string why) {
  return {.check = check, .outcome = SanitizerOutcome::not_run, .why_not = std::move(why)};
}

std::optional<std::string> set_if_known(std::string text) {
  return text.empty() ? std::nullopt : std::optional(std::move(text));
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

// A wrong result is one wherever its inputs lie. Any other failure proves nothing: the candidate was right.
Sanitizers::Checked Sanitizers::unless_wrong(Ended ended) {
  auto* blame = std::get_if<Blame>(&ended);
  if (blame == nullptr) return std::unexpected(std::move(ended));
  if (blame->stage != Stage::judge || blame->fault != Fault::kernel)
    return not_run(Sanitizer::bounds, blame->error);
  blame->error = "with inputs that end at unmapped pages: " + blame->error;
  blame->times_void = "the candidate is not right where inputs end at unmapped pages";
  return std::unexpected(std::move(ended));
}

// Without a GPU the interpreter refuses every access beyond a tensor, and a page that faults follows each
// input in every trial.
async::Task<Sanitizers::Checked> Sanitizers::check_bounds() {
  if (case_.settings.device == Device::cpu)
    co_return SanitizerCheck{.check = Sanitizer::bounds, .outcome = SanitizerOutcome::clean};
  std::vector<EdgeTensor> tensors = edge_tensors(oracle_.spec(), most_edges);
  if (tensors.empty()) co_return not_run(Sanitizer::bounds, "no input or weight has memory of its own");
  auto fault = co_await fault_at_edge(tensors, false);
  if (!fault) co_return unless_wrong(std::move(fault.error()));
  if (!*fault) co_return SanitizerCheck{.check = Sanitizer::bounds, .outcome = SanitizerOutcome::clean};
  co_return co_await find_beyond(std::move(tensors));
}

// A fault counts if it comes again in another process: with one tensor at the edge, which is then the one, or
// else with all of them.
async::Task<Sanitizers::Checked> Sanitizers::find_beyond(std::vector<EdgeTensor> tensors) {
  for (std::size_t at = 0; at <= tensors.size(); ++at) {
    const bool is_one = at < tensors.size();
    auto fault = co_await fault_at_edge(is_one ? std::vector{tensors[at]} : tensors, true);
    if (!fault) co_return unless_wrong(std::move(fault.error()));
    if (!*fault) continue;
    SanitizerFinding finding{.kind = beyond_the_end};
    if (!(*fault)->kernel.empty()) finding.kernel = (*fault)->kernel;
    if (is_one) finding.tensor = tensors[at].name;
    co_return SanitizerCheck{
        .check = Sanitizer::bounds, .outcome = SanitizerOutcome::found, .findings = {std::move(finding)}};
  }
  co_return not_run(Sanitizer::bounds, "a fault of the device did not come again");
}

async::Task<Outcome<Sanitizers::DeviceFault>> Sanitizers::fault_at_edge(std::vector<EdgeTensor> tensors,
                                                                        bool waits) {
  LiveCalls::How how{.waits = waits};
  for (const EdgeTensor& each : tensors) how.at_edge.push_back(each.offset);
  Evidence seen{.weights = weights_};
  calls_.restart_clock();
  auto done = co_await calls_.start(case_.context.plain_runners);
  if (done) done = co_await calls_.load(wire::Mode::cuda, "nan", seen);
  if (done) done = co_await calls_.trial(0, std::move(how), case_.settings.timeout, seen);
  co_await calls_.end();
  if (done) co_return DeviceFault{};
  if (const auto* blame = std::get_if<Blame>(&done.error()); blame != nullptr && is_fault(*blame))
    co_return *blame;
  co_return std::unexpected(std::move(done.error()));
}

async::Task<Sanitizers::Checked> Sanitizers::check_by_tool(Sanitizer tool) {
  if (case_.settings.device == Device::cpu) co_return not_run(tool, "needs a GPU");
  const ReportOf which = tool == Sanitizer::racecheck ? ReportOf::racecheck : ReportOf::memcheck;
  auto report = co_await ToolCheck(case_, oracle_, recordings_).run(which);
  if (!report) co_return std::unexpected(std::move(report.error()));
  SanitizerCheck check{.check = tool, .outcome = SanitizerOutcome::clean};
  for (ToolFinding& each : report->findings)
    check.findings.push_back({.kind = std::move(each.kind),
                              .kernel = set_if_known(std::move(each.kernel)),
                              .place = set_if_known(std::move(each.place))});
  if (!check.findings.empty())
    check.outcome = SanitizerOutcome::found;
  else if (!report->why_not.empty())
    check = not_run(tool, std::move(report->why_not));
  co_return check;
}

}  // namespace kw::verify
