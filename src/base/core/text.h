// Helpers on text: UTF-8, letters of ASCII, percent-encoding, the time as text, and the nesting of TOML.
#pragma once

#include <ctime>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kw {

// Small helpers on text.
std::string errno_text(int error);

bool is_utf8(std::string_view bytes);

// Replaces invalid sequences by U+FFFD, so that a candidate's output can be part of JSON.
std::string to_utf8(std::string_view bytes);

// As to_utf8, and also replaces control characters other than newline and tab by U+FFFD: a candidate's
// output must not control the reader's terminal.
std::string to_plain_text(std::string_view bytes);

// At most max_bytes, cut between characters, with a note of the number of omitted bytes.
std::string shorten(std::string_view text, std::size_t max_bytes);

std::string_view trim(std::string_view text);

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> texts);

// For all functions below: independent of the locale; bytes of non-ASCII characters are no letters.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}

// Whether the character can be part of an identifier.
constexpr bool is_word(char c) {
  return is_letter_or_digit(c) || c == '_';
}

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string_view text);

// Equality that ignores case.
bool iequals(std::string_view a, std::string_view b);

// Decodes "%2F" to "/"; keeps invalid escapes and '+'.
std::string percent_decoded(std::string_view text);

// ISO 8601, UTC, to the second: "2026-03-02T00:34:06Z".
std::string utc_text(std::time_t at);
std::string utc_now();

// Whether TOML may nest tables so deeply that a recursive reader overflows the stack: toml++ limits the
// nesting of values, but not of keys like a.a.a.a. True if a line has more than a thousand dots.
bool nests_too_deeply(std::string_view toml);

}  // namespace kw
