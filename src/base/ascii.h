// Letters, digits and case of ASCII, whatever the locale; bytes of other characters have none.
#pragma once

#include <string>
#include <string_view>

namespace kw {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}

// What identifiers are made of.
constexpr bool is_word(char c) {
  return is_letter_or_digit(c) || c == '_';
}

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string_view text);

// Equal but for case.
bool iequals(std::string_view a, std::string_view b);

}  // namespace kw
