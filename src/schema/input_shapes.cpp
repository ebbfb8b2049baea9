#include "schema/input_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "schema/json.h"

namespace kw {
namespace json = boost::json;
namespace {

constexpr std::string_view dtypes[] = {"float32", "float16", "bfloat16", "float64", "int64",
                                       "int32",   "int16",   "int8",     "uint8",   "bool"};

bool is_shape(const json::value* value) {
  if (!value || !value->is_array()) return false;
  return std::ranges::all_of(
      value->get_array(), [](const json::value& size) { return size.is_int64() && size.get_int64() >= 0; });
}

// What is wrong with one input's spec, or nothing.
std::string trouble(const json::value& spec) {
  if (!spec.is_object()) return "is not an object";
  if (!is_shape(spec.get_object().if_contains("shape"))) return "has no shape of whole numbers";
  auto dtype = string_at(spec.get_object(), "dtype");
  if (!dtype && spec.get_object().contains("dtype")) return "has a dtype that is no string";
  if (dtype && std::ranges::find(dtypes, *dtype) == std::end(dtypes))
    return fmt::format("has the dtype \"{}\", which is none of {}", *dtype, fmt::join(dtypes, ", "));
  return {};
}

constexpr const char* remedy = R"(give {"x": {"shape": [4, 8], "dtype": "float32"}})";

}  // namespace

Result<> check_input_shapes(std::string_view text) {
  auto value = parse_json(text);
  if (!value) return fail(fmt::format("input_shapes is {}", value.error().what), remedy);
  return check_input_shapes(*value);
}

Result<> check_input_shapes(const json::value& value) {
  if (!value.is_object()) return fail("input_shapes is not a JSON object", remedy);
  for (const auto& [name, spec] : value.get_object())
    if (std::string why = trouble(spec); !why.empty())
      return fail(fmt::format("input_shapes: \"{}\" {}", std::string_view(name), why), remedy);
  return {};
}

}  // namespace kw
