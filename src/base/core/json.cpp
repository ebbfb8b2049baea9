#include "base/core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <cmath>
#include <limits>
#include <vector>

namespace kw {
namespace json = boost::json;
namespace {

void append(std::string& out, const json::value& value);

void append_object(std::string& out, const json::object& object) {
  std::vector<std::string_view> keys;
  for (const auto& member : object) keys.emplace_back(member.key().data(), member.key().size());
  std::ranges::sort(keys);
  out += '{';
  for (std::string_view key : keys) {
    if (out.back() != '{') out += ',';
    out += json::serialize(json::string_view(key.data(), key.size()));
    out += ':';
    append(out, object.at(key));
  }
  out += '}';
}

void append_array(std::string& out, const json::array& array) {
  out += '[';
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (i > 0) out += ',';
    append(out, array[i]);
  }
  out += ']';
}

void append(std::string& out, const json::value& value) {
  if (const auto* object = value.if_object())
    append_object(out, *object);
  else if (const auto* array = value.if_array())
    append_array(out, *array);
  else
    out += json::serialize(value);
}

const json::value* find(const json::object& object, std::string_view key) {
  return object.if_contains(key);
}

}  // namespace

std::string canonical_json(const json::value& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string canonical_json_text(std::string_view text) {
  if (text.empty()) return {};
  auto value = parse_json(text);
  return value ? canonical_json(*value) : std::string(text);
}

Result<json::value> parse_json(std::string_view text) {
  json::stream_parser parser;
  boost::system::error_code error;
  std::size_t read = parser.write_some(text.data(), text.size(), error);
  if (!error && read < text.size()) error = json::error::extra_data;
  if (!error) parser.finish(error);
  if (error) return fail(fmt::format("not JSON: {} at byte {}", error.message(), read));
  return parser.release();
}

std::optional<std::string> string_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (!value || !value->is_string()) return {};
  return std::string(value->get_string());
}

std::optional<double> number_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (!value || !value->is_number()) return {};
  return value->to_number<double>();
}

std::optional<bool> bool_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (!value || !value->is_bool()) return {};
  return value->get_bool();
}

const json::object* object_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  return value ? value->if_object() : nullptr;
}

const json::array* array_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  return value ? value->if_array() : nullptr;
}

std::optional<std::int64_t> integer_of(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_double()) return {};
  // The parser may be off by a rounding step, so that 3.0 may have become a neighbouring number.
  constexpr double reading_error = 2 * std::numeric_limits<double>::epsilon();
  constexpr double past = 9223372036854775808.0;  // 2^63, the first number that does not fit
  double number = std::nearbyint(value.get_double());
  bool is_whole = std::abs(number - value.get_double()) <= reading_error * std::abs(number);
  if (!is_whole || !(number >= -past && number < past)) return {};
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> count_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  auto number = value ? integer_of(*value) : std::nullopt;
  return number && *number >= 0 ? number : std::nullopt;
}

json::value text_or_null(std::string_view text) {
  return text.empty() ? json::value() : json::value(json::string(text));
}

std::optional<std::string> text_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (!value) return {};
  if (value->is_int64()) return fmt::format("{}", value->get_int64());
  if (value->is_uint64()) return fmt::format("{}", value->get_uint64());
  if (value->is_double() && value->get_double() == std::trunc(value->get_double()))
    return fmt::format("{:.0f}", value->get_double());  // integers with gaps arrive as floating point
  return string_at(object, key);
}

}  // namespace kw
