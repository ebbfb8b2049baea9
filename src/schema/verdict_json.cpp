#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "schema/struct_json.h"
#include "schema/verdict.h"

// Each field of the contract in its order; a field that is reckoned of others is put in place below.
namespace kw {
namespace json = boost::json;

BOOST_DESCRIBE_STRUCT(ErrorDetail, (), (file, line, compiler_text, traceback))
BOOST_DESCRIBE_STRUCT(Tolerance, (), (name, rtol, atol))
BOOST_DESCRIBE_STRUCT(FirstMismatch, (), (output, index, expected, actual))
BOOST_DESCRIBE_STRUCT(Comparison, (),
                      (tolerance, trials, max_abs_error, max_rel_error, mismatched_share, first_mismatch,
                       findings))
BOOST_DESCRIBE_STRUCT(Clocks, (), (sm_mhz, memory_mhz, throttle))
BOOST_DESCRIBE_STRUCT(Timing, (),
                      (instrument, reference_samples_ms, kernel_samples_ms, reference_interval_ms,
                       kernel_interval_ms, floor_ms, call_speedup, compile_time_ms, roofline_share, clocks,
                       why_null))
BOOST_DESCRIBE_STRUCT(Launch, (),
                      (name, whose, cubin_sha256, grid, block, registers, spills, shared_bytes, time_ms))
BOOST_DESCRIBE_STRUCT(ReplayFacts, (),
                      (recordings, operations, streams, downloads, unjoined, orders, why_not))
BOOST_DESCRIBE_STRUCT(Call, (), (entry, convention, arguments, weights))
BOOST_DESCRIBE_STRUCT(Isolation, (), (level, layers))
BOOST_DESCRIBE_STRUCT(Environment, (), (gpu, driver, cuda, torch, triton, program_version, protocol))
BOOST_DESCRIBE_STRUCT(Verdict, (),
                      (id, task_id, sample_number, candidate_sha256, work, kernel_name, status, stage, fault,
                       error, error_class, error_detail, speedup, reference_time_ms, kernel_time_ms, counts,
                       counts_reason, shapes, trust, isolation, comparison, timing, launches, triton_share,
                       replay, call, environment, stages_ms))

namespace {

using struct_json::written;

// A value at one place of an output: what is no number is named, since that is the finding.
json::value element(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double read_element(const json::value* value) {
  if (!value) return std::numeric_limits<double>::quiet_NaN();
  if (value->is_number()) return value->to_number<double>();
  if (*value == "inf") return std::numeric_limits<double>::infinity();
  if (*value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

// The samples' median, beside the time, which is the mean of their middle half; null where there is no time.
json::value median_of(std::vector<double> samples, const std::optional<double>& time_ms) {
  if (!time_ms || samples.empty()) return written(time_ms);
  std::ranges::sort(samples);
  const std::size_t half = samples.size() / 2;
  return written(samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2);
}

// A field that no member has, and the one that it stands behind.
struct Reckoned {
  std::string_view after;
  std::string_view name;
  json::value value;
};

// The fields with the reckoned ones among them; those behind the same field in their order.
json::object joined(json::object fields, std::vector<Reckoned> reckoned) {
  json::object object;
  object.reserve(fields.size() + reckoned.size());
  for (auto& field : fields) {
    const std::string_view name = field.key();
    object.emplace(name, std::move(field.value()));
    for (Reckoned& each : reckoned)
      if (each.after == name) object.emplace(each.name, std::move(each.value));
  }
  return object;
}

json::object timing_json(const Verdict& v) {
  return joined(
      struct_json::fields_of(v.timing),
      {{"kernel_samples_ms", "reference_median_ms",
        median_of(v.timing.reference_samples_ms, v.reference_time_ms)},
       {"kernel_samples_ms", "kernel_median_ms", median_of(v.timing.kernel_samples_ms, v.kernel_time_ms)}});
}

}  // namespace

json::object to_json(const Verdict& v) {
  json::object fields = struct_json::fields_of(v);
  fields["timing"] = timing_json(v);
  if (v.comparison && v.comparison->first_mismatch) {
    json::object& first = fields["comparison"].as_object()["first_mismatch"].as_object();
    first["expected"] = element(v.comparison->first_mismatch->expected);
    first["actual"] = element(v.comparison->first_mismatch->actual);
  }
  json::object object{{"schema", verdict_schema}};
  for (auto& field : joined(std::move(fields), {{"status", "correctness", written(correctness(v))},
                                                {"kernel_time_ms", "fast_0", written(correctness(v))},
                                                {"kernel_time_ms", "fast_1", written(fast_1(v))},
                                                {"kernel_time_ms", "fast_2", written(fast_2(v))}}))
    object.emplace(field.key(), std::move(field.value()));
  for (const auto& [key, value] : v.further) object.emplace(key, value);
  return object;
}

Result<Verdict> verdict_from_json(const json::object& o) {
  const json::value* schema = o.if_contains("schema");
  if (!schema || *schema != verdict_schema) return fail(fmt::format("not a {} object", verdict_schema));
  Verdict v;
  bool is_whole = true;
  auto need = [&](const char* name, auto& member) {
    const json::value* value = o.if_contains(name);
    is_whole = is_whole && value && struct_json::read(*value, member);
  };
  need("id", v.id);
  need("task_id", v.task_id);
  need("candidate_sha256", v.candidate_sha256);
  need("status", v.status);
  need("stage", v.stage);
  if (!is_whole) return fail("a verdict lacks id, task_id, candidate_sha256, status or stage");
  struct_json::read(o, v);
  if (v.comparison && v.comparison->first_mismatch) {
    const json::object& first = o.at("comparison").at("first_mismatch").get_object();
    v.comparison->first_mismatch->expected = read_element(first.if_contains("expected"));
    v.comparison->first_mismatch->actual = read_element(first.if_contains("actual"));
  }
  // Without a level nothing is said of the isolation.
  if (v.isolation) {
    const json::value* level = o.at("isolation").get_object().if_contains("level");
    if (!level || !struct_json::read(*level, v.isolation->level)) v.isolation.reset();
  }
  return v;
}

}  // namespace kw
