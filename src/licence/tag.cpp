#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "licence/expression.h"
#include "licence/licence.h"
#include "licence/words.h"

namespace kw::licence {
namespace {

constexpr std::size_t max_lines = 50;
constexpr std::size_t max_bytes = 16'000;
constexpr std::string_view key = "spdx-license-identifier";

std::size_t find_key(std::string_view line) {
  const auto at = std::search(line.begin(), line.end(), key.begin(), key.end(),
                              [](char a, char b) { return lower(a) == b; });
  return at == line.end() ? std::string_view::npos : static_cast<std::size_t>(at - line.begin());
}

bool may_stand_in_a_tag(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '-' || c == '+' || c == ':' || c == ' ' || c == '\t' ||
         c == '(' || c == ')' || c == ',' || c == '/' || c == ';' || c == '_';
}

// The tag's value: up to a comment's end, a quote, or a byte that stands in no expression.
std::string_view value_of(std::string_view rest) {
  std::size_t end = 0;
  while (end < rest.size() && may_stand_in_a_tag(rest[end])) {
    if (rest.substr(end).starts_with("--") || rest.substr(end).starts_with("//")) break;
    ++end;
  }
  std::string_view value = trim(rest.substr(0, end));
  while (!value.empty() && (value.back() == '.' || value.back() == ',' || value.back() == ';' ||
                            value.back() == '-' || value.back() == '/' || value.back() == ':'))
    value = trim(value.substr(0, value.size() - 1));
  return value;
}

// Words that are no expression: a name of our own, so that the licence is seen, and met by no list.
std::string reference(std::string_view value) {
  std::string id = "LicenseRef-";
  for (const char c : value.substr(0, 80)) {
    const bool plain = is_letter_or_digit(c) || c == '.';
    if (plain)
      id += c;
    else if (!id.ends_with('-'))
      id += '-';
  }
  while (id.ends_with('-')) id.pop_back();
  return id == "LicenseRef" ? std::string() : id;
}

std::string read_value(std::string_view value) {
  if (auto whole = as_expression(value)) return *whole;
  // "MIT, Apache-2.0" and "MIT/Apache-2.0" do not say which: both.
  std::vector<std::string> parts;
  for (std::string_view rest = value; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(",;/"), rest.size());
    const std::string_view part = trim(rest.substr(0, end));
    if (!part.empty()) {
      auto one = as_expression(part);
      if (!one) return reference(value);
      parts.push_back(std::move(*one));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return both(parts);
}

}  // namespace

std::optional<corpus::Licence> from_tag(std::string_view bytes) {
  std::string_view head = head_of(bytes, max_lines, max_bytes);
  std::vector<std::string> all;
  std::size_t first_line = 0;
  for (std::size_t number = 1; !head.empty(); ++number) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
    const std::size_t at = find_key(line);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = trim(line.substr(at + key.size()));
    if (!rest.starts_with(':')) continue;
    const std::string_view value = value_of(trim(rest.substr(1)));
    std::string read = value.empty() ? std::string() : read_value(value);
    if (read.empty()) continue;
    if (first_line == 0) first_line = number;
    all.push_back(std::move(read));
  }
  std::string spdx = both(all);
  if (spdx.empty()) return std::nullopt;
  return corpus::Licence{.spdx = std::move(spdx), .evidence = fmt::format("SPDX tag, line {}", first_line)};
}

}  // namespace kw::licence
