// Words of the protocol: compared without case, made of few characters.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace kw::http {

// ASCII alone, whatever the locale.
inline char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) { return lower(c); });
  return result;
}

inline bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, [](char c) { return lower(c); }, [](char c) { return lower(c); });
}

inline bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace kw::http
