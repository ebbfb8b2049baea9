#include "base/http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "base/core/text.h"

namespace kw::http {

std::string_view header(const Headers& headers, std::string_view name) {
  for (const Header& entry : headers)
    if (iequals(entry.name, name)) return entry.value;
  return {};
}

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || marks.contains(c);
  });
}

Result<> check(const Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (!is_token(name))
      return fail(fmt::format("\"{}\" cannot be the name of a header", to_plain_text(shorten(name, 80))));
    // A line break would end the header, and the rest would be read as another header.
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return fail(fmt::format("the value of the header {} contains a line break", name),
                  "remove it; a key read from a file often ends in one");
  }
  return {};
}

std::string head_text(std::string_view first_line, const Headers& headers) {
  std::string text(first_line);
  text += "\r\n";
  for (const auto& [name, value] : headers) text.append(name).append(": ").append(value).append("\r\n");
  text += "\r\n";
  return text;
}

std::string_view reason(int status) {
  auto known = boost::beast::http::int_to_status(static_cast<unsigned>(status));
  if (known == boost::beast::http::status::unknown) return "Unknown";
  auto text = boost::beast::http::obsolete_reason(known);
  return {text.data(), text.size()};
}

}  // namespace kw::http
