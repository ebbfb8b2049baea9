#include "serve/dialects/kernelgym.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>
#include <initializer_list>

#include "base/core/json.h"
#include "base/core/text.h"
#include "serve/evaluation_json.h"
#include "types/verdict.h"
#include "verify/explain/words.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr int urgent = 10;

ApiError wrong(std::string_view field, std::string_view why) {
  return {400, "invalid", fmt::format("{} {}", field, why), std::string(field)};
}

// Copies KernelGYM's field under this service's name; a bad value is refused under that name.
void take(const json::object& theirs, std::string_view name, json::object& ours, std::string_view as) {
  if (const json::value* value = given(theirs, name)) ours[as] = *value;
}

Answered<int> priority_of(const json::object& theirs) {
  const json::value* value = given(theirs, "priority");
  if (!value || *value == "normal") return 0;
  if (*value == "high") return urgent;
  if (*value == "low") return -urgent;
  return refuse(wrong("priority", "is not low, normal or high"));
}

Answered<std::chrono::seconds> timeout_of(const json::object& theirs) {
  const json::value* value = given(theirs, "timeout");
  if (!value) return KernelGymRequest().timeout;
  if (value->is_int64() && value->get_int64() >= 1 && value->get_int64() <= 3600)
    return std::chrono::seconds(value->get_int64());
  return refuse(wrong("timeout", "is not a whole number from 1 to 3600"));
}

// A field that this service honours only at some values. Other fields that KernelGYM's client sends
// (is_valid, verbose_errors, enable_profiling, use_reference_cache, uuid) choose its caches, the length of
// its messages and its profiler, and change no result here.
struct Honoured {
  std::string_view field;
  std::initializer_list<std::string_view> values;  // as JSON
  std::string_view why;                            // other values are refused
};

constexpr std::string_view one_workflow = "the only workflow here is that of KernelBench";

const Honoured honoured[] = {
    {"workflow", {R"("kernelbench")"}, one_workflow},
    {"toolkit", {R"("kernelbench")"}, one_workflow},
    {"backend_adapter", {R"("kernelbench")"}, one_workflow},
    {"backend",
     {R"("triton")", R"("cuda")"},
     "candidates are Python modules with Triton kernels or inline CUDA"},
    {"detect_decoy_kernel", {"true"}, "decoys are always detected"},
    {"run_correctness", {"true"}, "results are always compared"},
};

std::optional<ApiError> not_honoured(const json::object& theirs) {
  for (const auto& [field, values, why] : honoured) {
    const json::value* value = given(theirs, field);
    if (!value || is_one_of(json::serialize(*value), values)) continue;
    return wrong(field, fmt::format("is {}, which is not supported: {}; leave it out, or give {}",
                                    shorten(json::serialize(*value), 100), why, fmt::join(values, " or ")));
  }
  return {};
}

// Whether the reference is timed under torch.compile. KernelGYM ignores the case of the word. It times eager
// PyTorch at unknown words, which are refused here.
Answered<bool> times_compiled(const json::object& theirs) {
  const json::value* value = given(theirs, "reference_backend");
  if (!value) return false;
  const std::string word = value->is_string() ? lower(value->get_string()) : "a value that is no string";
  if (is_one_of(word, {"compile", "torch_compile", "torch-compile"})) return true;
  if (is_one_of(word, {"", "pytorch", "torch", "eager"})) return false;
  return refuse(wrong("reference_backend",
                      fmt::format("is {}, which is not supported: give \"compile\" for the time of the "
                                  "reference under torch.compile, or leave it out for eager PyTorch",
                                  shorten(json::serialize(*value), 100))));
}

// Unknown fields are kept, separate from this service's names.
json::object others_of(const json::object& theirs) {
  json::object others = theirs;
  for (std::string_view key :
       {"task_id", "reference_code", "kernel_code", "entry_point", "num_correct_trials", "num_perf_trials",
        "timeout", "priority", "force_refresh", "workflow"})
    others.erase(key);
  return others;
}

}  // namespace

Answered<KernelGymRequest> kernelgym_request(const json::object& theirs) {
  if (auto refusal = not_honoured(theirs)) return refuse(std::move(*refusal));
  if (!given(theirs, "task_id")) return refuse(wrong("task_id", "is missing"));
  auto priority = priority_of(theirs);
  if (!priority) return refuse(std::move(priority.error()));
  auto timeout = timeout_of(theirs);
  if (!timeout) return refuse(std::move(timeout.error()));
  auto compiled = times_compiled(theirs);
  if (!compiled) return refuse(std::move(compiled.error()));
  std::string entry = string_at(theirs, "entry_point").value_or("Model");
  json::object options{{"timeout_s", timeout->count()}};
  if (*compiled) options["compile_baseline"] = true;
  take(theirs, "num_correct_trials", options, "correctness_trials");
  take(theirs, "num_perf_trials", options, "timing_trials");
  KernelGymRequest request{{{"entry_point", entry},
                            {"kernel_entry", entry + "New"},
                            {"priority", *priority},
                            {"options", std::move(options)}},
                           *timeout};
  take(theirs, "task_id", request.fields, "id");
  take(theirs, "reference_code", request.fields, "reference_code");
  take(theirs, "kernel_code", request.fields, "kernel_code");
  take(theirs, "force_refresh", request.fields, "fresh");
  request.fields["kernelgym"] = others_of(theirs);
  return request;
}

namespace {

namespace json = boost::json;

constexpr std::size_t longest_detail = 4000;  // of compiler output or traceback, for a model's prompt
constexpr double not_measured = -1;
constexpr double no_speedup = 0;

bool asked_for_compiled(const Verdict& verdict) {
  const json::value* theirs = verdict.further.if_contains("kernelgym");
  return theirs && theirs->is_object() && times_compiled(theirs->get_object()).value_or(false);
}

// The times that KernelGYM compares, in milliseconds.
struct KernelGymTimes {
  double reference = not_measured;
  double kernel = not_measured;
  double speedup = no_speedup;
};

KernelGymTimes times_of(const Verdict& verdict) {
  auto speedup = speedup_trusted(verdict, Trust::replay);
  if (!speedup) return {};
  const double kernel_ms = verdict.kernel_time_ms.value_or(not_measured);
  if (!asked_for_compiled(verdict))
    return {verdict.reference_time_ms.value_or(not_measured), kernel_ms, *speedup};
  const auto& compiled_ms = verdict.timing.compile_time_ms;
  if (!compiled_ms || kernel_ms <= 0) return {not_measured, kernel_ms, no_speedup};
  return {*compiled_ms, kernel_ms, *compiled_ms / kernel_ms};
}

std::optional<Verdict> verdict_of(const EvaluationState& record) {
  if (record.state != State::done || !record.verdict) return {};
  auto value = parse_json(*record.verdict);
  if (!value || !value->is_object()) return {};
  auto verdict = verdict_from_json(value->get_object());
  if (!verdict) return {};
  // The fields of the request, which stand beside those of the verdict.
  if (const json::value* theirs = value->get_object().if_contains("kernelgym"))
    verdict->further["kernelgym"] = *theirs;
  return std::move(*verdict);
}

// KernelGYM's "compiled" covers every step before the first call.
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

// Correct and counting, or correct as a decoy, which has its own field.
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
  return json::string(utc_text(std::time_t{*ms / 1000}));
}

template <typename T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

template <typename Enum>
json::value word(const std::optional<Enum>& value) {
  return value ? json::value(to_string(*value)) : json::value(nullptr);
}

// Trainers compute from these the share of the work that a candidate's own kernels do.
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
  if (all_us == 0) return;  // the times were not measured
  metadata["custom_kernel_cuda_time_in_profiling_us"] = own_us;
  metadata["total_kernel_run_time_in_profiling_us"] = all_us;
}

// Short, since trainers show the complete metadata to the model.
json::object metadata_of(const Verdict& verdict) {
  json::object metadata{{"gpu_name", or_null(verdict.environment.gpu)},
                        {"stage", to_string(verdict.stage)},
                        {"error_class", word(verdict.error_class)},
                        {"fault", word(verdict.fault)},
                        {"counts_reason", word(verdict.counts_reason)},
                        {"trust", word(verdict.trust)},
                        {"shapes", word(verdict.shapes)},
                        {"protocol", verdict.environment.protocol}};
  if (asked_for_compiled(verdict)) metadata["reference_backend"] = "compile";
  if (verdict.comparison) {
    metadata["max_difference"] = or_null(verdict.comparison->max_abs_error);
    metadata["findings"] = json::value_from(verdict.comparison->findings);
  }
  add_coverage(verdict, metadata);
  return metadata;
}

std::string_view status_of(const EvaluationState& record, const std::optional<Verdict>& verdict) {
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

json::value message_or_null(const EvaluationState& record, const std::optional<Verdict>& verdict) {
  if (record.state == State::cancelled) return json::string("cancelled: " + record.cause);
  if (!verdict || correct_and_counts(*verdict)) return nullptr;
  return json::string(message_of(*verdict));
}

}  // namespace

json::object kernelgym_status(const EvaluationState& record) {
  auto verdict = verdict_of(record);
  return {{"task_id", public_id(record.id)},
          {"status", status_of(record, verdict)},
          {"error_message", message_or_null(record, verdict)},
          {"submitted_at", time_of(record.submitted_at_ms)},
          {"started_at", time_of(record.started_at_ms)},
          {"completed_at", time_of(record.finished_at_ms)}};
}

json::object kernelgym_result(const EvaluationState& record) {
  auto verdict = verdict_of(record);
  json::object result{{"task_id", public_id(record.id)}, {"status", status_of(record, verdict)}};
  for (const char* name : {"compiled", "correctness", "decoy_kernel", "reference_runtime", "kernel_runtime",
                           "speedup", "metadata", "error_code"})
    result[name] = nullptr;
  if (verdict) {
    const KernelGymTimes times = times_of(*verdict);
    result["compiled"] = is_compiled(*verdict);
    result["correctness"] = is_right(*verdict);
    result["decoy_kernel"] = is_decoy(*verdict);
    result["reference_runtime"] = times.reference;
    result["kernel_runtime"] = times.kernel;
    result["speedup"] = times.speedup;
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
