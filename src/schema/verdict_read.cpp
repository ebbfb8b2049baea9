#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <limits>

#include "schema/json.h"
#include "schema/verdict.h"

namespace kw {
namespace json = boost::json;
namespace {

const json::object empty_object;

const json::object& object_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_object() ? value->get_object() : empty_object;
}

bool has_object(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_object();
}

const json::array* array_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value ? value->if_array() : nullptr;
}

std::optional<std::int64_t> integer_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (!value || !value->is_number()) return {};
  boost::system::error_code inexact;
  auto number = value->to_number<std::int64_t>(inexact);
  return inexact ? std::nullopt : std::optional(number);
}

template <typename Enum>
std::optional<Enum> enum_at(const json::object& object, std::string_view key) {
  auto name = string_at(object, key);
  return name ? from_string<Enum>(*name) : std::nullopt;
}

template <typename T>
std::vector<T> numbers_at(const json::object& object, std::string_view key) {
  std::vector<T> values;
  if (const json::array* array = array_at(object, key))
    for (const json::value& value : *array)
      if (value.is_number()) {
        boost::system::error_code inexact;
        values.push_back(value.to_number<T>(inexact));
      }
  return values;
}

std::vector<std::string> strings_at(const json::object& object, std::string_view key) {
  std::vector<std::string> values;
  if (const json::array* array = array_at(object, key))
    for (const json::value& value : *array)
      if (value.is_string()) values.emplace_back(value.get_string());
  return values;
}

double element_at(const json::object& object, std::string_view key) {
  if (auto number = number_at(object, key)) return *number;
  auto word = string_at(object, key);
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

std::optional<Interval> interval_at(const json::object& object, std::string_view key) {
  auto ends = numbers_at<double>(object, key);
  return ends.size() == 2 ? std::optional(Interval(ends[0], ends[1])) : std::nullopt;
}

ErrorDetail read_detail(const json::object& o) {
  return {string_at(o, "file"), integer_at(o, "line"), string_at(o, "compiler_text"),
          string_at(o, "traceback")};
}

Comparison read_comparison(const json::object& o) {
  const json::object& tolerance = object_at(o, "tolerance");
  Comparison comparison{.tolerance = {string_at(tolerance, "name").value_or(""), number_at(tolerance, "rtol"),
                                      number_at(tolerance, "atol")},
                        .trials = static_cast<std::size_t>(integer_at(o, "trials").value_or(0)),
                        .max_abs_error = number_at(o, "max_abs_error"),
                        .max_rel_error = number_at(o, "max_rel_error"),
                        .mismatched_share = number_at(o, "mismatched_share"),
                        .first_mismatch = {},
                        .findings = strings_at(o, "findings")};
  if (has_object(o, "first_mismatch")) {
    const json::object& m = object_at(o, "first_mismatch");
    comparison.first_mismatch = {string_at(m, "output").value_or(""), numbers_at<std::int64_t>(m, "index"),
                                 element_at(m, "expected"), element_at(m, "actual")};
  }
  return comparison;
}

Timing read_timing(const json::object& o) {
  Timing timing{.instrument = string_at(o, "instrument"),
                .reference_samples_ms = numbers_at<double>(o, "reference_samples_ms"),
                .kernel_samples_ms = numbers_at<double>(o, "kernel_samples_ms"),
                .reference_interval_ms = interval_at(o, "reference_interval_ms"),
                .kernel_interval_ms = interval_at(o, "kernel_interval_ms"),
                .floor_ms = number_at(o, "floor_ms"),
                .call_speedup = number_at(o, "call_speedup"),
                .compile_time_ms = number_at(o, "compile_time_ms"),
                .roofline_share = number_at(o, "roofline_share"),
                .clocks = {},
                .why_null = string_at(o, "why_null")};
  const json::object& clocks = object_at(o, "clocks");
  if (has_object(o, "clocks"))
    timing.clocks = {number_at(clocks, "sm_mhz"), number_at(clocks, "memory_mhz"),
                     string_at(clocks, "throttle")};
  return timing;
}

std::vector<Launch> read_launches(const json::array& array) {
  std::vector<Launch> launches;
  for (const json::value& value : array) {
    if (!value.is_object()) continue;
    const json::object& o = value.get_object();
    launches.push_back({string_at(o, "name").value_or(""), string_at(o, "whose"),
                        string_at(o, "cubin_sha256"), numbers_at<std::uint64_t>(o, "grid"),
                        numbers_at<std::uint64_t>(o, "block"), integer_at(o, "registers"),
                        integer_at(o, "spills"), integer_at(o, "shared_bytes"), number_at(o, "time_ms")});
  }
  return launches;
}

Environment read_environment(const json::object& o) {
  return {string_at(o, "gpu"),
          string_at(o, "driver"),
          string_at(o, "cuda"),
          string_at(o, "torch"),
          string_at(o, "triton"),
          string_at(o, "program_version").value_or(""),
          string_at(o, "protocol").value_or("")};
}

ReplayFacts read_replay(const json::object& o) {
  auto count = [&](const char* key) { return static_cast<std::size_t>(integer_at(o, key).value_or(0)); };
  return {count("recordings"), count("operations"), count("streams"),       count("downloads"),
          count("unjoined"),   count("orders"),     string_at(o, "why_not")};
}

void read_parts(const json::object& o, Verdict& v) {
  if (has_object(o, "error_detail")) v.error_detail = read_detail(object_at(o, "error_detail"));
  if (has_object(o, "comparison")) v.comparison = read_comparison(object_at(o, "comparison"));
  v.timing = read_timing(object_at(o, "timing"));
  if (const json::array* launches = array_at(o, "launches")) v.launches = read_launches(*launches);
  v.triton_share = number_at(o, "triton_share");
  if (has_object(o, "replay")) v.replay = read_replay(object_at(o, "replay"));
  const json::object& call = object_at(o, "call");
  if (has_object(o, "call"))
    v.call = Call{string_at(call, "entry").value_or(""), string_at(call, "convention").value_or(""),
                  strings_at(call, "arguments"), string_at(call, "weights").value_or("")};
  const json::object& isolation = object_at(o, "isolation");
  if (auto level = enum_at<IsolationLevel>(isolation, "level"))
    v.isolation = Isolation{*level, strings_at(isolation, "layers")};
  v.environment = read_environment(object_at(o, "environment"));
  for (const auto& member : object_at(o, "stages_ms"))
    if (auto stage = from_string<Stage>(member.key()); stage && member.value().is_number())
      v.stages_ms[*stage] = member.value().to_number<double>();
}

}  // namespace

Result<Verdict> verdict_from_json(const json::object& o) {
  if (string_at(o, "schema") != verdict_schema) return fail(fmt::format("not a {} object", verdict_schema));
  auto status = enum_at<Status>(o, "status");
  auto stage = enum_at<Stage>(o, "stage");
  auto id = string_at(o, "id");
  auto task_id = string_at(o, "task_id");
  auto sha256 = string_at(o, "candidate_sha256");
  if (!status || !stage || !id || !task_id || !sha256)
    return fail("a verdict lacks id, task_id, candidate_sha256, status or stage");
  Verdict v;
  v.id = *id;
  v.task_id = *task_id;
  v.sample_number = static_cast<std::size_t>(integer_at(o, "sample_number").value_or(0));
  v.candidate_sha256 = *sha256;
  v.work = string_at(o, "work");
  v.kernel_name = string_at(o, "kernel_name");
  v.status = *status;
  v.stage = *stage;
  v.fault = enum_at<Fault>(o, "fault");
  v.error = string_at(o, "error");
  v.error_class = enum_at<ErrorClass>(o, "error_class");
  v.speedup = number_at(o, "speedup");
  v.reference_time_ms = number_at(o, "reference_time_ms");
  v.kernel_time_ms = number_at(o, "kernel_time_ms");
  v.counts = bool_at(o, "counts");
  v.counts_reason = enum_at<CountsReason>(o, "counts_reason");
  v.shapes = enum_at<Shapes>(o, "shapes");
  v.trust = enum_at<Trust>(o, "trust");
  read_parts(o, v);
  return v;
}

}  // namespace kw
