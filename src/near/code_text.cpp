#include "near/code_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/ascii.h"
#include "base/text.h"

namespace kw::near {
namespace {

constexpr std::array python_starts{"def ",        "class ",  "async def ", "import ", "from ",   "@",
                                   "if __name__", "return ", "elif ",      "with ",   "assert ", "raise "};
constexpr std::array cpp_starts{"#include", "#define",    "#pragma",    "#if",    "#endif",
                                "template", "__global__", "__device__", "//",     "/*",
                                "extern ",  "using ",     "static ",    "struct "};

template <std::size_t Size>
bool starts_with_any(std::string_view line, const std::array<const char*, Size>& starts) {
  return std::ranges::any_of(starts, [&](const char* start) { return line.starts_with(start); });
}

// > 0: C++, < 0: Python.
int leaning(std::string_view line) {
  if (line.empty()) return 0;
  if (starts_with_any(line, cpp_starts)) return 1;
  char last = line.back();
  if (last == ';' || last == '{' || line == "}") return 1;
  if (starts_with_any(line, python_starts) || last == ':') return -1;
  return line.starts_with('#') ? -1 : 0;
}

bool opens_or_closes_long_string(std::string_view line) {
  std::size_t marks = 0;
  for (std::string_view mark : {R"(""")", "'''"})
    for (std::size_t at = line.find(mark); at != std::string_view::npos; at = line.find(mark, at + 3))
      ++marks;
  return marks % 2 == 1;
}

}  // namespace

Language language_of(std::string_view text) {
  int sum = 0;
  bool in_long_string = false;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!in_long_string) sum += leaning(line);
    in_long_string ^= opens_or_closes_long_string(line);
  }
  return sum > 0 ? Language::cpp : Language::python;
}

bool is_string(std::string_view token) {
  std::size_t quote = token.find_first_of("\"'");
  return quote <= 3 &&
         std::ranges::all_of(token.substr(0, quote), [](char c) { return is_letter(c) || c == '8'; });
}

std::string plain_string(std::string_view literal) {
  std::size_t quote = literal.find_first_of("\"'");
  std::string plain;
  for (char c : literal.substr(0, quote)) {
    char small = lower(c);
    if (small != 'u') plain += small;
  }
  std::ranges::sort(plain);
  std::string_view inside = literal.substr(quote);
  std::size_t marks = inside.size() >= 6 && inside[1] == inside[0] && inside[2] == inside[0] ? 3 : 1;
  char mark = inside[0];
  inside.remove_prefix(std::min(marks, inside.size()));
  if (inside.size() >= marks && inside.back() == mark) inside.remove_suffix(marks);
  plain += '"';
  for (std::size_t i = 0; i < inside.size(); ++i) {
    bool escaped_quote =
        inside[i] == '\\' && i + 1 < inside.size() && (inside[i + 1] == '"' || inside[i + 1] == '\'');
    if (!escaped_quote) plain += inside[i];
  }
  plain += '"';
  return plain;
}

}  // namespace kw::near
