#include "base/core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
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

// Builds a value as the library's parser does, but with the double nearest to the text: the library's own is
// off by a rounding step for one number in ten, so that a value that is read and written again would change.
class ValueBuilder {
 public:
  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();
  using Error = boost::system::error_code;

  ValueBuilder() { stack_.reset(); }
  json::value release() { return stack_.release(); }

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_object_begin(Error&) { return true; }
  bool on_array_begin(Error&) { return true; }
  bool on_object_end(std::size_t members, Error&) { return stack_.push_object(members), true; }
  bool on_array_end(std::size_t items, Error&) { return stack_.push_array(items), true; }
  bool on_key_part(json::string_view part, std::size_t, Error&) { return stack_.push_chars(part), true; }
  bool on_key(json::string_view rest, std::size_t, Error&) { return stack_.push_key(rest), true; }
  bool on_string_part(json::string_view part, std::size_t, Error&) { return stack_.push_chars(part), true; }
  bool on_string(json::string_view rest, std::size_t, Error&) { return stack_.push_string(rest), true; }
  bool on_int64(std::int64_t number, json::string_view, Error&) { return stack_.push_int64(number), true; }
  bool on_uint64(std::uint64_t number, json::string_view, Error&) { return stack_.push_uint64(number), true; }
  bool on_bool(bool value, Error&) { return stack_.push_bool(value), true; }
  bool on_null(Error&) { return stack_.push_null(), true; }
  bool on_comment_part(json::string_view, Error&) { return true; }
  bool on_comment(json::string_view, Error&) { return true; }
  // The text comes in one piece, and so does every number.
  bool on_number_part(json::string_view, Error&) { return true; }
  bool on_double(double number, json::string_view text, Error&) {
    std::from_chars(text.data(), text.data() + text.size(),
                    number);  // out of range: the library's, 0 or infinity
    return stack_.push_double(number), true;
  }

 private:
  json::value_stack stack_;
};

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
  json::basic_parser<ValueBuilder> parser{json::parse_options{}};
  boost::system::error_code error;
  std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = json::error::extra_data;
  if (error) return fail(fmt::format("not JSON: {} at byte {}", error.message(), read));
  return parser.handler().release();
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
  constexpr double past = 9223372036854775808.0;  // 2^63, the first number that does not fit
  double number = value.get_double();
  if (number != std::trunc(number) || !(number >= -past && number < past)) return {};
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
