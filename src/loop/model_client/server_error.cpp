#include "loop/model_client/server_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <string>

#include "base/core/json.h"
#include "base/core/text.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

constexpr std::size_t max_message_bytes = 600;

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

// Reads all known fields for an error's text.
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

// An HTML page is reduced to its title.
std::string page_title(std::string_view page) {
  std::size_t begin = page.find("<title>");
  std::size_t end = page.find("</title>");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "a web page";
  return fmt::format("a web page: {}", trim(page.substr(begin + 7, end - begin - 7)));
}

std::string bounded(std::string_view text) {
  return shorten(to_plain_text(trim(text)), max_message_bytes);
}

// An HTTP status from 400 to 599; empty for other text.
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
  // Google sends a list with one error.
  if (one && one->is_array() && !one->get_array().empty()) one = &one->get_array().front();
  if (one && one->is_object())
    add_object(one->get_object(), error);
  else
    error.message = text.starts_with('<') ? page_title(text) : std::string(text);
  error.message = error.message.empty() ? "no details" : bounded(error.message);
  return error;
}

bool lacks_completions(const ServerError& error) {
  if (error.status == 404 || error.status == 405 || error.status == 501) return true;
  std::string text = lower(error.message);
  return error.status == 400 && text.contains("completions") &&
         (text.contains("not support") || text.contains("chat model"));
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

namespace {

// A shorter answer cannot contain a kernel.
constexpr std::uint64_t least_answer_tokens = 64;

// Accepts "4,096". Rejects more digits than a context length can have.
std::optional<std::uint64_t> number_at(std::string_view text, std::size_t at) {
  std::uint64_t number = 0;
  std::size_t digits = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == ',' && digits > 0)); ++at) {
    if (text[at] == ',') continue;
    number = number * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (++digits > 12) return {};
  }
  return digits > 0 ? std::optional(number) : std::nullopt;
}

// The first number shortly after one of the phrases.
std::optional<std::uint64_t> after(std::string_view text, std::initializer_list<std::string_view> phrases) {
  constexpr std::size_t gap = 16;
  for (std::string_view phrase : phrases)
    for (std::size_t at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
      std::size_t from = at + phrase.size();
      std::size_t digit = text.find_first_of("0123456789", from);
      if (digit == std::string_view::npos || digit - from > gap) continue;
      if (auto number = number_at(text, digit)) return number;
    }
  return {};
}

// The number just before one of the phrases: "4000 in the messages".
std::optional<std::uint64_t> before(std::string_view text, std::initializer_list<std::string_view> phrases) {
  for (std::string_view phrase : phrases)
    for (std::size_t at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
      std::size_t end = at;
      while (end > 0 && text[end - 1] == ' ') --end;
      std::size_t begin = end;
      while (begin > 0 && (is_digit(text[begin - 1]) || text[begin - 1] == ',')) --begin;
      if (begin == end) continue;
      if (auto number = number_at(text, begin)) return number;
    }
  return {};
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> phrases) {
  return std::ranges::any_of(phrases,
                             [&](std::string_view p) { return text.find(p) != std::string_view::npos; });
}

bool is_overflow(const ServerError& error, std::string_view text) {
  if (has_any(lower(error.code), {"context_length_exceeded", "string_above_max_length"})) return true;
  if (has_any(lower(error.type), {"exceed_context_size"})) return true;
  if (has_any(text, {"max_tokens", "max_completion_tokens"}) && has_any(text, {"too large", "too high"}))
    return true;
  bool context = has_any(text, {"context length", "context size", "context window", "context limit",
                                "maximum model length", "max_model_len", "maximum sequence length"});
  bool over = has_any(text, {"exceed", "longer than", "too long", "too large", "reduce the length", "however",
                             "is full", "does not fit", "larger than", "greater than"});
  return (context && over) || has_any(text, {"prompt is too long", "input is too long", "too many tokens"});
}

}  // namespace

std::optional<Overflow> overflow_in(const ServerError& error) {
  std::string text = lower(error.message);
  if (error.status == 429 || !is_overflow(error, text)) return {};
  Overflow overflow{.context = error.context_tokens, .prompt = error.prompt_tokens, .answer = {}};
  if (!overflow.context)
    overflow.context = after(text, {"context length", "context size", "context window", "context limit",
                                    "maximum model length", "max_model_len", "maximum sequence length"});
  if (!overflow.context) overflow.context = before(text, {"maximum"});
  if (!overflow.prompt)
    overflow.prompt = before(text, {"in the messages", "in the prompt", "input tokens", "prompt tokens",
                                    "tokens from the input", "tokens in the messages"});
  if (!overflow.prompt)
    overflow.prompt =
        after(text, {"prompt (length", "the input (", "request (", "prompt is too long:", "prompt contains"});
  if (has_any(text, {"completion tokens"})) overflow.answer = after(text, {"at most"});
  return overflow;
}

std::optional<std::uint64_t> shrunk(const Overflow& overflow, std::optional<std::uint64_t> asked) {
  std::optional<std::uint64_t> left = overflow.answer;
  if (overflow.context && overflow.prompt) {
    std::uint64_t room = *overflow.context - std::min(*overflow.context, *overflow.prompt);
    left = left ? std::min(*left, room) : room;
  }
  if (!asked && !left) return {};
  // The error has no numbers, or numbers with which the request should have fitted.
  if (!left || (asked && *left >= *asked)) left = *asked / 2;
  if (*left < std::min(least_answer_tokens, asked.value_or(least_answer_tokens))) return {};
  return left;
}

}  // namespace kw::llm
