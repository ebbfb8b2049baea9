#include "base/core/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <ctime>

namespace kw {
namespace {

// Length of the valid UTF-8 sequence that starts at bytes[0], or 0 (RFC 3629, table 3-7 of Unicode).
std::size_t sequence_length(std::string_view bytes) {
  auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < bytes.size() && at(i) >= low && at(i) <= high;
  };
  unsigned c = at(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return tail(1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF)
    return tail(1, c == 0xE0 ? 0xA0 : 0x80, c == 0xED ? 0x9F : 0xBF) && tail(2) ? 3 : 0;
  if (c >= 0xF0 && c <= 0xF4)
    return tail(1, c == 0xF0 ? 0x90 : 0x80, c == 0xF4 ? 0x8F : 0xBF) && tail(2) && tail(3) ? 4 : 0;
  return 0;
}

}  // namespace

std::string errno_text(int error) {
  char buffer[128];
  return strerror_r(error, buffer, sizeof buffer);
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t n = sequence_length(bytes);
    if (n == 0) return false;
    bytes.remove_prefix(n);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    std::size_t n = sequence_length(bytes);
    if (n == 0) {
      text += "\xEF\xBF\xBD";
      n = 1;
    } else {
      text += bytes.substr(0, n);
    }
    bytes.remove_prefix(n);
  }
  return text;
}

std::string to_plain_text(std::string_view bytes) {
  std::string text;
  std::string utf8 = to_utf8(bytes);
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    auto c = static_cast<unsigned char>(utf8[i]);
    bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    // The C1 controls, U+0080 to U+009F, are C2 80 to C2 9F in UTF-8.
    bool c1 = c == 0xC2 && i + 1 < utf8.size() && static_cast<unsigned char>(utf8[i + 1]) < 0xA0;
    if (c1) ++i;
    if (control || c1)
      text += "\xEF\xBF\xBD";
    else
      text += utf8[i];
  }
  return text;
}

std::string shorten(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t cut = max_bytes;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return fmt::format("{} [... {} bytes left out]", text.substr(0, cut), text.size() - cut);
}

std::string_view trim(std::string_view text) {
  const char* blank = " \t\r\n";
  std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::ranges::find(texts, text) != texts.end();
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = lower(c);
  return lowered;
}

bool iequals(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      result += static_cast<char>(value);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string utc_text(std::time_t at) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(at));
}

std::string utc_now() {
  return utc_text(std::time(nullptr));
}

bool nests_too_deeply(std::string_view toml) {
  constexpr std::size_t most_dots = 1000;
  std::size_t dots = 0;
  for (char c : toml) {
    if (c == '\n') dots = 0;
    if (c == '.' && ++dots > most_dots) return true;
  }
  return false;
}

}  // namespace kw
