#include "verify/blame.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace kw::verify {
namespace {

using engine::Lost;

template <typename T>
std::optional<T> some(T value, bool there) {
  return there ? std::optional<T>(std::move(value)) : std::nullopt;
}

void set(Verdict& verdict, Status status, std::optional<Fault> fault, ErrorClass error_class,
         std::string error) {
  verdict.status = status;
  verdict.fault = fault;
  verdict.error_class = error_class;
  verdict.error = std::move(error);
}

// Fork-server, runner and oracle are our own Python: a word of theirs that we do not know is our mistake.
ErrorClass class_of(const wire::FailedT& failed) {
  return from_string<ErrorClass>(failed.error_class).value_or(ErrorClass::infrastructure);
}

void take_detail(Verdict& verdict, const wire::FailedT& failed) {
  ErrorDetail detail;
  detail.file = some(to_plain_text(failed.file), !failed.file.empty());
  detail.line = some<std::int64_t>(failed.line, failed.line >= 0);
  detail.compiler_text = some(to_plain_text(failed.compiler_text), !failed.compiler_text.empty());
  detail.traceback = some(to_plain_text(failed.traceback), !failed.traceback.empty());
  verdict.error_detail = detail;
}

std::string last_words(const std::string& printed) {
  std::string words(trim(printed));
  if (words.empty()) return {};
  if (words.size() > 600) words = "... " + words.substr(words.size() - 600);
  return "; it had printed: " + to_plain_text(words);
}

void blame_death(Verdict& verdict, const Lost& lost, const RunnerLoss& where) {
  int signal = lost.exit.signal();
  if (lost.exit.oom_kills > 0)
    return set(verdict, Status::failed, Fault::kernel, ErrorClass::out_of_memory,
               "the candidate's process was ended for using too much memory");
  if ((signal == SIGSEGV || signal == SIGBUS) && where.in_launch)
    return set(verdict, Status::failed, Fault::kernel, ErrorClass::illegal_memory_access,
               "a kernel touched memory that is not mapped (segmentation fault inside a launch)");
  std::string how = !lost.exit.known ? "ended"
                    : signal != 0    ? fmt::format("died of {} (signal {})", ::strsignal(signal), signal)
                                     : fmt::format("exited with code {}", lost.exit.code());
  set(verdict, Status::failed, Fault::kernel, ErrorClass::process_died,
      fmt::format("the candidate's process {} before it had answered{}", how, last_words(where.printed)));
}

void blame_deadline(Verdict& verdict, const RunnerLoss& where) {
  if (where.device == Device::cpu && where.in_launch)
    return set(verdict, Status::skipped, std::nullopt, ErrorClass::too_large,
               "the interpreter did not get through one launch in time");
  set(verdict, Status::failed, Fault::kernel, ErrorClass::timeout,
      where.in_launch ? "a launch did not end in time" : "the candidate did not return in time");
}

}  // namespace

bool was_stopped(const engine::Refusal& refusal) {
  return refusal.lost && refusal.lost->why == Lost::Why::stopped;
}

void blame_candidate(Verdict& verdict, const engine::Refusal& refusal, const RunnerLoss& where) {
  verdict.stage = where.stage;
  if (refusal.failed) {
    const wire::FailedT& failed = *refusal.failed;
    ErrorClass error_class = class_of(failed);
    verdict.stage = from_string<Stage>(failed.stage).value_or(where.stage);
    take_detail(verdict, failed);
    // Whoever holds the channel after the import may be the candidate: from then on it cannot plead our
    // fault.
    if (error_class == ErrorClass::infrastructure && where.stage != Stage::import_)
      return set(verdict, Status::failed, Fault::kernel, ErrorClass::process_died,
                 "the candidate's process broke: " + to_plain_text(failed.error));
    if (error_class == ErrorClass::infrastructure)
      return set(verdict, Status::error, Fault::infrastructure, error_class, to_plain_text(failed.error));
    if (error_class == ErrorClass::unsupported_candidate)
      return set(verdict, Status::skipped, std::nullopt, error_class, to_plain_text(failed.error));
    // It ran, and what it returned cannot even be carried over.
    bool ran = error_class == ErrorClass::wrong_structure;
    return set(verdict, ran ? Status::incorrect : Status::failed, Fault::kernel, error_class,
               to_plain_text(failed.error));
  }
  switch (refusal.lost->why) {
    case Lost::Why::died:
      return blame_death(verdict, *refusal.lost, where);
    case Lost::Why::deadline:
      return blame_deadline(verdict, where);
    case Lost::Why::closed:
      return set(verdict, Status::failed, Fault::kernel, ErrorClass::process_died,
                 "the candidate's process closed its channel to us");
    case Lost::Why::malformed:
      return set(verdict, Status::failed, Fault::kernel, ErrorClass::process_died,
                 "the candidate's process answered with what is no message: " + refusal.lost->detail);
    case Lost::Why::stopped:
      return;
  }
}

void blame_task(Verdict& verdict, const engine::Refusal& refusal, Stage stage) {
  verdict.stage = stage;
  if (refusal.failed) {
    const wire::FailedT& failed = *refusal.failed;
    ErrorClass error_class = class_of(failed);
    take_detail(verdict, failed);
    if (error_class == ErrorClass::too_large)
      return set(verdict, Status::skipped, std::nullopt, error_class, to_plain_text(failed.error));
    bool ours = error_class == ErrorClass::infrastructure || error_class == ErrorClass::out_of_memory;
    return set(verdict, Status::error, ours ? Fault::infrastructure : Fault::task,
               ours ? ErrorClass::infrastructure : ErrorClass::task_invalid, to_plain_text(failed.error));
  }
  const Lost& lost = *refusal.lost;
  if (lost.why == Lost::Why::deadline)
    return set(verdict, Status::error, Fault::task, ErrorClass::task_invalid,
               "the reference did not end in time");
  std::string how = lost.exit.signal() != 0 ? fmt::format(" ({})", ::strsignal(lost.exit.signal())) : "";
  set(verdict, Status::error, Fault::infrastructure, ErrorClass::infrastructure,
      fmt::format("the oracle was lost{}: {}", how, lost.detail));
}

void blame_infrastructure(Verdict& verdict, Stage stage, const Error& error) {
  verdict.stage = stage;
  set(verdict, Status::error, Fault::infrastructure, ErrorClass::infrastructure,
      error.remedy.empty() ? error.what : error.what + "; " + error.remedy);
}

void take_judgement(Verdict& verdict, const wire::JudgedT& judged) {
  Comparison& comparison = *verdict.comparison;
  comparison.tolerance.rtol = some(judged.rtol, judged.rtol >= 0);
  comparison.tolerance.atol = some(judged.atol, judged.atol >= 0);
  auto worst = [](std::optional<double>& so_far, double now) {
    so_far = std::max(so_far.value_or(now), now);
  };
  worst(comparison.max_abs_error, judged.max_abs_error);
  worst(comparison.max_rel_error, judged.max_rel_error);
  worst(comparison.mismatched_share, judged.mismatched_share);
  for (const std::string& finding : judged.findings)
    if (std::ranges::find(comparison.findings, finding) == comparison.findings.end())
      comparison.findings.push_back(to_plain_text(finding));
  if (judged.right) return;
  verdict.stage = Stage::judge;
  ErrorClass error_class = from_string<ErrorClass>(judged.error_class).value_or(ErrorClass::wrong_value);
  set(verdict, Status::incorrect, Fault::kernel, error_class, to_plain_text(judged.error));
  if (!judged.first_mismatch) return;
  const wire::MismatchT& first = *judged.first_mismatch;
  comparison.first_mismatch = FirstMismatch{first.output, first.index, first.expected, first.actual};
}

void forgive_at_reduced_shapes(Verdict& verdict) {
  if (verdict.shapes != Shapes::reduced || !verdict.error_class) return;
  switch (*verdict.error_class) {
    case ErrorClass::wrong_value:
    case ErrorClass::wrong_shape:
    case ErrorClass::nonfinite:
    case ErrorClass::out_of_bounds:
    case ErrorClass::illegal_memory_access:
      break;
    case ErrorClass::runtime_error:
      // Wrong arguments are wrong at any size; an assertion on a size is not.
      if (verdict.error->find("argument") != std::string::npos) return;
      break;
    default:
      return;
  }
  if (!verdict.comparison) verdict.comparison.emplace();
  verdict.comparison->findings.push_back(
      fmt::format("at reduced shapes: {}: {}", to_string(*verdict.error_class), *verdict.error));
  verdict.error_detail.reset();
  set(verdict, Status::skipped, std::nullopt, ErrorClass::too_large,
      "too large to interpret at the given shapes, and not right at reduced ones, which proves nothing");
}

}  // namespace kw::verify
