#include "service/kernelgym_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json/value_from.hpp>

#include "base/text.h"
#include "explain/words.h"
#include "schema/json.h"
#include "schema/verdict.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_detail = 4000;  // of compilers and tracebacks: it goes into a model's prompt
constexpr double not_measured = -1;
constexpr double no_speedup = 0;

std::optional<Verdict> verdict_of(const Record& record) {
  if (record.state != State::done || !record.verdict) return {};
  auto value = parse_json(*record.verdict);
  if (!value || !value->is_object()) return {};
  auto verdict = verdict_from_json(value->get_object());
  if (!verdict) return {};
  return std::move(*verdict);
}

// Theirs compile while they load: what stands between a source and its first call.
bool is_compiled(const Verdict& verdict) {
  switch (verdict.error_class.value_or(ErrorClass::wrong_value)) {
    case ErrorClass::syntax_error:
    case ErrorClass::missing_entry:
    case ErrorClass::forbidden:
    case ErrorClass::import_error:
    case ErrorClass::compile_error:
      return false;
    default:
      return correctness(verdict).has_value();
  }
}

bool is_decoy(const Verdict& verdict) {
  return verdict.counts_reason == CountsReason::decoy || verdict.counts_reason == CountsReason::library_only;
}

// Right, and a decoy only says so itself: that has a field of its own.
bool is_right(const Verdict& verdict) {
  return correct_and_counts(verdict) || (verdict.status == Status::correct && is_decoy(verdict));
}

std::string_view code_of(const Verdict& verdict) {
  if (verdict.fault == Fault::infrastructure) return "SYSTEM_ERROR";
  if (verdict.fault == Fault::task) return "VALIDATION_ERROR";
  if (!verdict.error_class) return "CORRECTNESS_ERROR";
  switch (*verdict.error_class) {
    case ErrorClass::syntax_error:
      return "SYNTAX_ERROR";
    case ErrorClass::import_error:
      return "IMPORT_ERROR";
    case ErrorClass::missing_entry:
    case ErrorClass::forbidden:
      return "VALIDATION_ERROR";
    case ErrorClass::compile_error:
      return "COMPILATION_ERROR";
    case ErrorClass::out_of_resources:
    case ErrorClass::out_of_memory:
      return "RESOURCE_ERROR";
    case ErrorClass::timeout:
      return "TIMEOUT_ERROR";
    case ErrorClass::runtime_error:
    case ErrorClass::illegal_memory_access:
    case ErrorClass::out_of_bounds:
    case ErrorClass::process_died:
      return "RUNTIME_ERROR";
    case ErrorClass::unsupported_candidate:
    case ErrorClass::too_large:
      return "UNKNOWN_ERROR";
    default:
      return "CORRECTNESS_ERROR";
  }
}

std::string detail_of(const Verdict& verdict) {
  if (!verdict.error_detail) return {};
  const auto& detail = verdict.error_detail->compiler_text ? verdict.error_detail->compiler_text
                                                           : verdict.error_detail->traceback;
  return detail ? shorten(trim(*detail), longest_detail) : "";
}

std::string message_of(const Verdict& verdict) {
  if (verdict.status == Status::correct)
    return verdict.counts_reason ? fmt::format("{} ({})", explain::words_of(*verdict.counts_reason).told,
                                               to_string(*verdict.counts_reason))
                                 : "The result is right, but whether it counts is not known.";
  std::string message = verdict.error.value_or(std::string(to_string(verdict.status)));
  std::string detail = to_plain_text(detail_of(verdict));
  if (detail.contains(message)) return detail;
  return detail.empty() ? message : message + "\n" + detail;
}

json::value time_of(std::optional<std::int64_t> ms) {
  if (!ms) return nullptr;
  return json::string(fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time_t{*ms / 1000})));
}

template <typename T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

template <typename Enum>
json::value word(const std::optional<Enum>& value) {
  return value ? json::value(to_string(*value)) : json::value(nullptr);
}

// By these trainers tell how much of the work a candidate's own kernels do.
void add_coverage(const Verdict& verdict, json::object& metadata) {
  if (!verdict.launches || verdict.launches->empty()) return;
  std::size_t own = 0;
  double own_us = 0;
  double all_us = 0;
  for (const Launch& launch : *verdict.launches) {
    bool is_own = launch.whose == "candidate";
    double us = launch.time_ms.value_or(0) * 1000;
    own += is_own ? 1 : 0;
    own_us += is_own ? us : 0;
    all_us += us;
  }
  metadata["num_custom_kernels"] = own;
  metadata["num_total_kernels"] = verdict.launches->size();
  if (all_us == 0) return;  // nobody took their times
  metadata["custom_kernel_cuda_time_in_profiling_us"] = own_us;
  metadata["total_kernel_run_time_in_profiling_us"] = all_us;
}

// Short: trainers show all of it to the model.
json::object metadata_of(const Verdict& verdict) {
  json::object metadata{{"gpu_name", or_null(verdict.environment.gpu)},
                        {"stage", to_string(verdict.stage)},
                        {"error_class", word(verdict.error_class)},
                        {"fault", word(verdict.fault)},
                        {"counts_reason", word(verdict.counts_reason)},
                        {"trust", word(verdict.trust)},
                        {"shapes", word(verdict.shapes)},
                        {"protocol", verdict.environment.protocol}};
  if (verdict.comparison) {
    metadata["max_difference"] = or_null(verdict.comparison->max_abs_error);
    metadata["findings"] = json::value_from(verdict.comparison->findings);
  }
  add_coverage(verdict, metadata);
  return metadata;
}

std::string_view status_of(const Record& record, const std::optional<Verdict>& verdict) {
  switch (record.state) {
    case State::queued:
      return "pending";
    case State::running:
      return "processing";
    case State::cancelled:
      return record.cause == "deadline" ? "timeout" : "cancelled";
    case State::done:
      break;
  }
  return verdict && is_compiled(*verdict) ? "completed" : "failed";
}

json::value message_or_null(const Record& record, const std::optional<Verdict>& verdict) {
  if (record.state == State::cancelled) return json::string("cancelled: " + record.cause);
  if (!verdict || correct_and_counts(*verdict)) return nullptr;
  return json::string(message_of(*verdict));
}

}  // namespace

json::object kernelgym_status(const Record& record) {
  auto verdict = verdict_of(record);
  return {{"task_id", record.id},
          {"status", status_of(record, verdict)},
          {"error_message", message_or_null(record, verdict)},
          {"submitted_at", time_of(record.submitted_at_ms)},
          {"started_at", time_of(record.started_at_ms)},
          {"completed_at", time_of(record.finished_at_ms)}};
}

json::object kernelgym_result(const Record& record) {
  auto verdict = verdict_of(record);
  json::object result{{"task_id", record.id}, {"status", status_of(record, verdict)}};
  for (const char* name : {"compiled", "correctness", "decoy_kernel", "reference_runtime", "kernel_runtime",
                           "speedup", "metadata", "error_code"})
    result[name] = nullptr;
  if (verdict) {
    auto speedup = speedup_trusted(*verdict, Trust::replay);
    result["compiled"] = is_compiled(*verdict);
    result["correctness"] = is_right(*verdict);
    result["decoy_kernel"] = is_decoy(*verdict);
    result["reference_runtime"] = speedup ? verdict->reference_time_ms.value_or(not_measured) : not_measured;
    result["kernel_runtime"] = speedup ? verdict->kernel_time_ms.value_or(not_measured) : not_measured;
    result["speedup"] = speedup.value_or(no_speedup);
    result["metadata"] = metadata_of(*verdict);
    if (!correct_and_counts(*verdict)) result["error_code"] = code_of(*verdict);
  }
  result["error_message"] = message_or_null(record, verdict);
  result["submitted_at"] = time_of(record.submitted_at_ms);
  result["completed_at"] = time_of(record.finished_at_ms);
  result["processing_time"] = nullptr;
  if (record.started_at_ms && record.finished_at_ms)
    result["processing_time"] = static_cast<double>(*record.finished_at_ms - *record.started_at_ms) / 1000;
  return result;
}

}  // namespace kw::service
