#include <algorithm>
#include <boost/json/array.hpp>
#include <cmath>

#include "schema/verdict.h"

namespace kw {
namespace json = boost::json;
namespace {

json::value written(double value) {
  return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}
json::value written(bool value) {
  return value;
}
json::value written(std::int64_t value) {
  return value;
}
json::value written(std::uint64_t value) {
  return value;
}
json::value written(const std::string& value) {
  return json::string(value);
}

template <typename Enum>
  requires std::is_enum_v<Enum>
json::value written(Enum value) {
  return json::string(to_string(value));
}

json::value written(const Interval& interval) {
  return json::array{written(interval.first), written(interval.second)};
}

json::value written(const ErrorDetail& detail);
json::value written(const FirstMismatch& mismatch);
json::value written(const Comparison& comparison);
json::value written(const Clocks& clocks);
json::value written(const Launch& launch);
json::value written(const ReplayFacts& replay);
json::value written(const Call& call);
json::value written(const Isolation& isolation);

template <typename T>
json::value written(const std::vector<T>& values) {
  json::array array;
  for (const T& value : values) array.push_back(written(value));
  return array;
}

template <typename T>
json::value written(const std::optional<T>& value) {
  return value ? written(*value) : json::value(nullptr);
}

// A value at one place of an output: what is no number is named, since that is the finding.
json::value element(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

json::value written(const ErrorDetail& detail) {
  return json::object{{"file", written(detail.file)},
                      {"line", written(detail.line)},
                      {"compiler_text", written(detail.compiler_text)},
                      {"traceback", written(detail.traceback)}};
}

json::value written(const FirstMismatch& mismatch) {
  return json::object{{"output", mismatch.output},
                      {"index", written(mismatch.index)},
                      {"expected", element(mismatch.expected)},
                      {"actual", element(mismatch.actual)}};
}

json::value written(const Comparison& comparison) {
  json::object tolerance{{"name", comparison.tolerance.name},
                         {"rtol", written(comparison.tolerance.rtol)},
                         {"atol", written(comparison.tolerance.atol)}};
  return json::object{{"tolerance", std::move(tolerance)},
                      {"trials", comparison.trials},
                      {"max_abs_error", written(comparison.max_abs_error)},
                      {"max_rel_error", written(comparison.max_rel_error)},
                      {"mismatched_share", written(comparison.mismatched_share)},
                      {"first_mismatch", written(comparison.first_mismatch)},
                      {"findings", written(comparison.findings)}};
}

json::value written(const Clocks& clocks) {
  return json::object{{"sm_mhz", written(clocks.sm_mhz)},
                      {"memory_mhz", written(clocks.memory_mhz)},
                      {"throttle", written(clocks.throttle)}};
}

json::value written(const Launch& launch) {
  return json::object{{"name", launch.name},
                      {"whose", written(launch.whose)},
                      {"cubin_sha256", written(launch.cubin_sha256)},
                      {"grid", written(launch.grid)},
                      {"block", written(launch.block)},
                      {"registers", written(launch.registers)},
                      {"spills", written(launch.spills)},
                      {"shared_bytes", written(launch.shared_bytes)},
                      {"time_ms", written(launch.time_ms)}};
}

json::value written(const Call& call) {
  return json::object{{"entry", call.entry},
                      {"convention", call.convention},
                      {"arguments", written(call.arguments)},
                      {"weights", call.weights}};
}

json::value written(const ReplayFacts& replay) {
  return json::object{{"recordings", replay.recordings},   {"operations", replay.operations},
                      {"streams", replay.streams},         {"downloads", replay.downloads},
                      {"unjoined", replay.unjoined},       {"orders", replay.orders},
                      {"why_not", written(replay.why_not)}};
}

json::value written(const Isolation& isolation) {
  return json::object{{"level", written(isolation.level)}, {"layers", written(isolation.layers)}};
}

// The samples' median, beside the time, which is the mean of their middle half; null where there is no time.
json::value median_of(std::vector<double> samples, const std::optional<double>& time_ms) {
  if (!time_ms || samples.empty()) return written(time_ms);
  std::ranges::sort(samples);
  const std::size_t half = samples.size() / 2;
  return written(samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2);
}

json::object timing_json(const Verdict& verdict) {
  const Timing& timing = verdict.timing;
  return {{"instrument", written(timing.instrument)},
          {"reference_samples_ms", written(timing.reference_samples_ms)},
          {"kernel_samples_ms", written(timing.kernel_samples_ms)},
          {"reference_median_ms", median_of(timing.reference_samples_ms, verdict.reference_time_ms)},
          {"kernel_median_ms", median_of(timing.kernel_samples_ms, verdict.kernel_time_ms)},
          {"reference_interval_ms", written(timing.reference_interval_ms)},
          {"kernel_interval_ms", written(timing.kernel_interval_ms)},
          {"floor_ms", written(timing.floor_ms)},
          {"call_speedup", written(timing.call_speedup)},
          {"compile_time_ms", written(timing.compile_time_ms)},
          {"roofline_share", written(timing.roofline_share)},
          {"clocks", written(timing.clocks)},
          {"why_null", written(timing.why_null)}};
}

json::object environment_json(const Environment& environment) {
  return {{"gpu", written(environment.gpu)},       {"driver", written(environment.driver)},
          {"cuda", written(environment.cuda)},     {"torch", written(environment.torch)},
          {"triton", written(environment.triton)}, {"program_version", environment.program_version},
          {"protocol", environment.protocol}};
}

json::object stages_json(const std::map<Stage, double>& stages) {
  json::object object;
  for (const auto& [stage, ms] : stages) object.emplace(to_string(stage), written(ms));
  return object;
}

}  // namespace

json::object to_json(const Verdict& v) {
  json::object object{{"schema", verdict_schema},
                      {"id", v.id},
                      {"task_id", v.task_id},
                      {"sample_number", v.sample_number},
                      {"candidate_sha256", v.candidate_sha256},
                      {"work", written(v.work)},
                      {"kernel_name", written(v.kernel_name)},
                      {"status", written(v.status)},
                      {"correctness", written(correctness(v))},
                      {"stage", written(v.stage)},
                      {"fault", written(v.fault)},
                      {"error", written(v.error)},
                      {"error_class", written(v.error_class)},
                      {"error_detail", written(v.error_detail)},
                      {"speedup", written(v.speedup)},
                      {"reference_time_ms", written(v.reference_time_ms)},
                      {"kernel_time_ms", written(v.kernel_time_ms)},
                      {"fast_0", written(correctness(v))},
                      {"fast_1", written(fast_1(v))},
                      {"fast_2", written(fast_2(v))},
                      {"counts", written(v.counts)},
                      {"counts_reason", written(v.counts_reason)},
                      {"shapes", written(v.shapes)},
                      {"trust", written(v.trust)},
                      {"isolation", written(v.isolation)},
                      {"comparison", written(v.comparison)},
                      {"timing", timing_json(v)},
                      {"launches", written(v.launches)},
                      {"triton_share", written(v.triton_share)},
                      {"replay", written(v.replay)},
                      {"call", written(v.call)},
                      {"environment", environment_json(v.environment)},
                      {"stages_ms", stages_json(v.stages_ms)}};
  for (const auto& [key, value] : v.further) object.emplace(key, value);
  return object;
}

}  // namespace kw
