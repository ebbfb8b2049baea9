#include "llm/lenient_json.h"

#include <boost/json/parse.hpp>
#include <charconv>
#include <string>

namespace kw::llm {
namespace json = boost::json;
namespace {

std::optional<json::value> parse(std::string_view text) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return {};
  return value;
}

// The number of "\uXXXX" at the beginning of the text.
std::optional<unsigned> escape_at(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return {};
  unsigned number = 0;
  auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, number, 16);
  if (error != std::errc() || end != text.data() + 6) return {};
  return number;
}

bool is_high(unsigned unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_low(unsigned unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

std::string without_half_pairs(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t taken = 1;
    auto unit = escape_at(text);
    if (unit) {
      auto next = escape_at(text.substr(6));
      bool pair = is_high(*unit) && next && is_low(*next);
      bool half = !pair && (is_high(*unit) || is_low(*unit));
      taken = pair ? 12 : 6;
      out += half ? std::string_view("\\ufffd") : text.substr(0, taken);
    } else {
      if (text[0] == '\\' && text.size() > 1) taken = 2;  // "\\u" escapes no character
      out += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace

std::optional<json::value> parse_leniently(std::string_view text) {
  if (auto value = parse(text)) return value;
  if (text.find("\\u") == std::string_view::npos) return {};
  return parse(without_half_pairs(text));
}

}  // namespace kw::llm
