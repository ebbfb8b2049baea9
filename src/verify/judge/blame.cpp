#include "verify/judge/blame.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstring>

#include "base/core/text.h"
#include "code/syntax/features.h"

namespace kw::verify {
namespace {

using engine::Lost;

// Fork server, runner and oracle are this project's Python: an unknown word from them is a bug of the
// project.
ErrorClass class_of(const wire::FailedT& failed) {
  return from_string<ErrorClass>(failed.error_class).value_or(ErrorClass::infrastructure);
}

ErrorDetail detail_of(const wire::FailedT& failed) {
  auto some = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(to_plain_text(text));
  };
  ErrorDetail detail;
  detail.file = some(failed.file);
  if (failed.line >= 0) detail.line = failed.line;
  detail.compiler_text = some(failed.compiler_text);
  detail.traceback = some(failed.traceback);
  return detail;
}

Blame of_kernel(Stage stage, ErrorClass error_class, std::string error) {
  return {stage, Status::failed, Fault::kernel, error_class, std::move(error)};
}

// A stop is no fault.
Blame skipped(Stage stage, ErrorClass error_class, std::string error) {
  return {stage, Status::skipped, std::nullopt, error_class, std::move(error)};
}

std::string last_words(const std::string& printed) {
  std::string words(trim(printed));
  if (words.empty()) return {};
  if (words.size() > 600) words = "... " + words.substr(words.size() - 600);
  return "; it had printed: " + to_plain_text(words);
}

Blame blame_death(const Lost& lost, const RunnerLoss& where) {
  int signal = lost.exit.signal();
  if (lost.exit.oom_kills > 0)
    return of_kernel(where.stage, ErrorClass::out_of_memory,
                     "the candidate's process was ended for using too much memory");
  if ((signal == SIGSEGV || signal == SIGBUS) && where.in_launch)
    return of_kernel(where.stage, ErrorClass::illegal_memory_access,
                     "a kernel touched memory that is not mapped (segmentation fault inside a launch)");
  std::string how = !lost.exit.known ? "ended"
                    : signal != 0    ? fmt::format("died of {} (signal {})", ::strsignal(signal), signal)
                                     : fmt::format("exited with code {}", lost.exit.code());
  return of_kernel(
      where.stage, ErrorClass::process_died,
      fmt::format("the candidate's process {} before it had answered{}", how, last_words(where.printed)));
}

// "in time", or the limit that the user can raise.
std::string in_time(std::optional<std::chrono::milliseconds> timeout) {
  if (!timeout) return "in time";
  return fmt::format("within the limit of --timeout, {} s", static_cast<double>(timeout->count()) / 1000);
}

Blame blame_deadline(const RunnerLoss& where) {
  if (where.device == Device::cpu && where.in_launch)
    return skipped(where.stage, ErrorClass::too_large,
                   "the interpreter did not get through one launch " + in_time(where.timeout));
  return of_kernel(
      where.stage, ErrorClass::timeout,
      (where.in_launch ? "a launch did not end " : "the candidate did not return ") + in_time(where.timeout));
}

// The runner reports the fault. From the import on the candidate may hold the channel, so the report cannot
// make the fault the infrastructure's or the task's: Open has ended before the candidate's source is there.
// No runner reports a size.
Blame blame_failure(const wire::FailedT& failed, const RunnerLoss& where) {
  const Stage stage = where.stage;
  const ErrorClass error_class = class_of(failed);
  const std::string error = to_plain_text(failed.error);
  if (error_class == ErrorClass::infrastructure || error_class == ErrorClass::task_invalid ||
      error_class == ErrorClass::too_large)
    return of_kernel(stage, ErrorClass::process_died, "the candidate's process broke: " + error);
  if (error_class == ErrorClass::unsupported_candidate)
    return may_use(where.source, error)
               ? skipped(stage, error_class, error)
               : of_kernel(
                     stage, ErrorClass::process_died,
                     "the candidate's process reports a missing feature that its source does not use: " +
                         error);
  Blame blame = of_kernel(stage, error_class, error);
  // The candidate ran, and its result cannot be transferred.
  if (error_class == ErrorClass::wrong_structure) blame.status = Status::incorrect;
  return blame;
}

}  // namespace

std::string refusal_words(const engine::WorkerFailure& refusal) {
  if (refusal.failed) return to_plain_text(refusal.failed->error);
  return "its process was lost: " + refusal.lost->detail;
}

bool was_stopped(const engine::WorkerFailure& refusal) {
  return refusal.lost && refusal.lost->why == Lost::Why::stopped;
}

std::string doubt_about(const engine::WorkerFailure& refusal) {
  if (refusal.failed)
    return class_of(*refusal.failed) == ErrorClass::out_of_memory ? "it found no memory" : "";
  if (refusal.lost->why == Lost::Why::evicted) return refusal.lost->detail;
  return refusal.lost->starved ? "other processes kept it from the CPU" : "";
}

std::string doubt_about(std::string_view words) {
  const bool full = words.contains("out of memory") || words.contains("does not fit");
  return full ? "it found no memory" : "";
}

namespace {

constexpr std::size_t most_name_bytes = 200;

Blame blame_for(const engine::WorkerFailure& refusal, const RunnerLoss& where) {
  if (refusal.failed) {
    Blame blame = blame_failure(*refusal.failed, where);
    blame.stage = from_string<Stage>(refusal.failed->stage).value_or(where.stage);
    blame.detail = detail_of(*refusal.failed);
    blame.kernel = shorten(to_plain_text(refusal.failed->kernel), most_name_bytes);
    return blame;
  }
  switch (refusal.lost->why) {
    case Lost::Why::died:
      return blame_death(*refusal.lost, where);
    case Lost::Why::deadline:
      return blame_deadline(where);
    case Lost::Why::malformed:
      return of_kernel(where.stage, ErrorClass::process_died,
                       "the candidate's process answered with what is no message: " + refusal.lost->detail);
    case Lost::Why::over_device_memory:
      return of_kernel(where.stage, ErrorClass::out_of_memory, refusal.lost->detail);
    case Lost::Why::evicted:  // judged again alone; no fault is known
      return blame_infrastructure(where.stage, Error{refusal.lost->detail, ""});
    case Lost::Why::closed:
    case Lost::Why::stopped:  // the caller tests was_stopped() first
      break;
  }
  return of_kernel(where.stage, ErrorClass::process_died, "the candidate's process closed its channel to us");
}

Blame blame_of_oracle(const engine::WorkerFailure& refusal, Stage stage,
                      std::optional<std::chrono::milliseconds> timeout) {
  if (refusal.failed) {
    const ErrorClass error_class = class_of(*refusal.failed);
    const std::string error = to_plain_text(refusal.failed->error);
    const bool ours = error_class == ErrorClass::infrastructure || error_class == ErrorClass::out_of_memory;
    Blame blame = error_class == ErrorClass::too_large ? skipped(stage, error_class, error)
                  : ours                               ? blame_infrastructure(stage, Error{error, ""})
                         : Blame{stage, Status::error, Fault::task, ErrorClass::task_invalid, error};
    blame.detail = detail_of(*refusal.failed);
    return blame;
  }
  const Lost& lost = *refusal.lost;
  if (lost.why == Lost::Why::deadline)
    return {stage, Status::error, Fault::task, ErrorClass::task_invalid,
            fmt::format("the reference did not end {}{}", in_time(timeout),
                        timeout ? ": raise it, or give the task smaller inputs" : "")};
  std::string how = lost.exit.signal() != 0 ? fmt::format(" ({})", ::strsignal(lost.exit.signal())) : "";
  return blame_infrastructure(stage, Error{fmt::format("the oracle was lost{}: {}", how, lost.detail), ""});
}

}  // namespace

Blame blame_candidate(const engine::WorkerFailure& refusal, const RunnerLoss& where) {
  Blame blame = blame_for(refusal, where);
  // Without a GPU a runner's memory is its own: its address space and its cgroup have the limit.
  if (where.device == Device::cuda || !refusal.failed) blame.doubt = doubt_about(refusal);
  return blame;
}

Blame blame_task(const engine::WorkerFailure& refusal, Stage stage,
                 std::optional<std::chrono::milliseconds> timeout) {
  Blame blame = blame_of_oracle(refusal, stage, timeout);
  blame.doubt = doubt_about(refusal);
  return blame;
}

Blame blame_infrastructure(Stage stage, const Error& error) {
  return {stage, Status::error, Fault::infrastructure, ErrorClass::infrastructure,
          error.remedy.empty() ? error.what : error.what + "; " + error.remedy};
}

std::unexpected<Ended> could_not_start(Stage stage, const Error& error, const async::Stop& stop) {
  if (stop.requested()) return std::unexpected<Ended>(Stopped{});
  return std::unexpected<Ended>(blame_infrastructure(stage, error));
}

Blame blame_result(const wire::JudgedT& judged) {
  const auto error_class = from_string<ErrorClass>(judged.error_class).value_or(ErrorClass::wrong_value);
  // A write out of bounds says nothing about the values.
  const bool wild = error_class == ErrorClass::out_of_bounds;
  return {Stage::judge, wild ? Status::failed : Status::incorrect, Fault::kernel, error_class,
          to_plain_text(judged.error)};
}

bool stands_at_reduced_shapes(ErrorClass error_class, std::string_view error) {
  switch (error_class) {
    case ErrorClass::wrong_value:
    case ErrorClass::wrong_shape:
    case ErrorClass::nonfinite:
    case ErrorClass::out_of_bounds:
    case ErrorClass::illegal_memory_access:
      return false;
    case ErrorClass::runtime_error:
      // Wrong arguments are wrong at any size; an assertion on a size is not.
      return error.contains("argument");
    default:
      return true;
  }
}

}  // namespace kw::verify
