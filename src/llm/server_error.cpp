#include "llm/server_error.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "base/text.h"
#include "schema/json.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

constexpr std::size_t max_message_bytes = 600;

std::optional<std::uint64_t> count_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (!value || !value->is_number()) return {};
  boost::system::error_code inexact;
  auto number = value->to_number<std::uint64_t>(inexact);
  return inexact ? std::nullopt : std::optional(number);
}

// [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}] → "body.seed: Extra inputs …".
std::string complaint(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  const auto* object = value.if_object();
  if (!object || !string_at(*object, "msg")) return json::serialize(value);
  std::string where;
  if (const json::value* place = object->if_contains("loc"); place && place->is_array())
    for (const json::value& step : place->get_array()) {
      if (!where.empty()) where += '.';
      where += step.is_string() ? std::string(step.get_string()) : json::serialize(step);
    }
  std::string text = string_at(*object, "msg").value_or("");
  return where.empty() ? text : where + ": " + text;
}

std::string complaints(const json::value& detail) {
  if (!detail.is_array()) return complaint(detail);
  std::string all;
  for (const json::value& one : detail.get_array()) {
    if (!all.empty()) all += "; ";
    all += complaint(one);
  }
  return all;
}

void add_fields(const json::object& object, ServerError& error) {
  error.message = string_at(object, "message").value_or("");
  error.type = text_at(object, "type").value_or("");
  error.code = text_at(object, "code").value_or("");
  error.param = string_at(object, "param").value_or("");
  error.prompt_tokens = count_at(object, "n_prompt_tokens");
  error.context_tokens = count_at(object, "n_ctx");
}

// Wherever a server puts its words.
void add_object(const json::object& object, ServerError& error) {
  add_fields(object, error);
  if (const json::value* nested = object.if_contains("error"); nested && !nested->is_null()) {
    if (nested->is_object())
      add_fields(nested->get_object(), error);
    else
      error.message = complaint(*nested);
  } else if (const json::value* detail = object.if_contains("detail"); detail && !detail->is_null()) {
    error.message = complaints(*detail);
  }
  if (error.message.empty()) error.message = json::serialize(object);
}

// Of a page for browsers its title says most.
std::string page_title(std::string_view page) {
  std::size_t begin = page.find("<title>");
  std::size_t end = page.find("</title>");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "a web page";
  return fmt::format("a web page: {}", trim(page.substr(begin + 7, end - begin - 7)));
}

std::string bounded(std::string_view text) {
  return shorten(to_plain_text(trim(text)), max_message_bytes);
}

// 400 to 599, as a number or in digits.
std::optional<int> status_in(std::string_view code) {
  int number = 0;
  auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), number);
  if (error != std::errc() || end != code.data() + code.size() || number < 400 || number > 599) return {};
  return number;
}

}  // namespace

ServerError read_error(int status, std::string_view body) {
  ServerError error;
  error.status = status;
  std::string_view text = trim(body);
  auto value = text.starts_with('{') || text.starts_with('[') ? parse_json(to_utf8(text)) : fail("");
  const json::value* one = value ? &*value : nullptr;
  // Google wraps its error into a list.
  if (one && one->is_array() && !one->get_array().empty()) one = &one->get_array().front();
  if (one && one->is_object())
    add_object(one->get_object(), error);
  else
    error.message = text.starts_with('<') ? page_title(text) : std::string(text);
  error.message = error.message.empty() ? "no further words" : bounded(error.message);
  return error;
}

std::optional<ServerError> error_in(const json::object& object) {
  const json::value* nested = object.if_contains("error");
  bool flat = string_at(object, "object").value_or("") == "error";
  bool detailed = object.contains("detail") && !object.contains("choices");
  if (!flat && !detailed && (!nested || nested->is_null())) return {};
  ServerError error;
  add_object(object, error);
  error.message = bounded(error.message);
  error.status = status_in(error.code).value_or(500);
  return error;
}

}  // namespace kw::llm
