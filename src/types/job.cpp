#include "types/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "base/core/crypto.h"
#include "base/core/json.h"

namespace kw {

std::string candidate_sha256(std::string_view code) {
  return sha256_hex(code);
}

std::string kernelbench_task_id(std::string_view level, std::string_view problem_id) {
  return fmt::format("kernelbench/{}/{}", level.empty() ? "?" : level, problem_id);
}

std::string kernelbook_task_id(std::string_view uuid_or_row) {
  return fmt::format("kernelbook/{}", uuid_or_row);
}

std::string sample_task_id(std::string_view name) {
  return fmt::format("sample/{}", name);
}

std::string hashed_task_id(std::string_view reference_code, std::string_view input_shapes,
                           std::string_view entry_point) {
  std::string bytes(reference_code);
  bytes += '\0';
  bytes += canonical_json_text(input_shapes);
  if (!entry_point.empty()) (bytes += '\0') += entry_point;
  return "sha256:" + sha256_hex(bytes).substr(0, 16);
}

namespace json = boost::json;
namespace {

constexpr std::string_view dtypes[] = {"float32", "float16", "bfloat16", "float64", "int64",
                                       "int32",   "int16",   "int8",     "uint8",   "bool"};

bool is_shape(const json::value* value) {
  if (!value || !value->is_array()) return false;
  return std::ranges::all_of(
      value->get_array(), [](const json::value& size) { return size.is_int64() && size.get_int64() >= 0; });
}

// The fault of one input's spec; empty if there is none.
std::string trouble(const json::value& spec) {
  if (!spec.is_object()) return "is not an object";
  if (!is_shape(spec.get_object().if_contains("shape"))) return "has no shape of whole numbers";
  auto dtype = string_at(spec.get_object(), "dtype");
  if (!dtype && spec.get_object().contains("dtype")) return "has a dtype that is no string";
  if (dtype && std::ranges::find(dtypes, *dtype) == std::end(dtypes))
    return fmt::format("has the dtype \"{}\", which is none of {}", *dtype, fmt::join(dtypes, ", "));
  return {};
}

constexpr const char* shapes_remedy = R"(give {"x": {"shape": [4, 8], "dtype": "float32"}})";

}  // namespace

Result<> check_input_shapes(std::string_view text) {
  auto value = parse_json(text);
  if (!value) return fail(fmt::format("input_shapes is {}", value.error().what), shapes_remedy);
  return check_input_shapes(*value);
}

Result<> check_input_shapes(const json::value& value) {
  if (!value.is_object()) return fail("input_shapes is not a JSON object", shapes_remedy);
  for (const auto& [name, spec] : value.get_object())
    if (std::string why = trouble(spec); !why.empty())
      return fail(fmt::format("input_shapes: \"{}\" {}", std::string_view(name), why), shapes_remedy);
  return {};
}

void restamp(Verdict& verdict, const Job& job) {
  verdict.id = job.id;
  verdict.task_id = job.task.task_id;
  verdict.sample_number = job.sample_number;
  verdict.candidate_sha256 = candidate_sha256(job.candidate.code);
  verdict.kernel_name.reset();
  if (!job.candidate.kernel_name.empty()) verdict.kernel_name = job.candidate.kernel_name;
}

Verdict no_verdict(const Job& job, std::string why) {
  Verdict verdict;
  restamp(verdict, job);
  verdict.status = Status::error;
  verdict.stage = Stage::prepare;
  verdict.fault = Fault::infrastructure;
  verdict.error = std::move(why);
  verdict.error_class = ErrorClass::infrastructure;
  verdict.timing.why_null = "it was not judged";
  return verdict;
}

}  // namespace kw
