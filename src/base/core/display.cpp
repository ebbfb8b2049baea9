#include "base/core/display.h"

#include <fmt/format.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/core/text.h"

namespace kw {
namespace {

bool wants_none() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_colour && *no_colour) || (terminal && std::string_view(terminal) == "dumb");
}

constexpr std::size_t narrowest = 40;  // cells; a narrower terminal counts as this wide

std::size_t width_of(int fd) {
  struct winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return Style{}.width;
  return std::max<std::size_t>(size.ws_col, narrowest);
}

int code_of(Colour colour) {
  switch (colour) {
    case Colour::green:
      return 32;
    case Colour::red:
      return 31;
    case Colour::yellow:
      return 33;
    case Colour::grey:
      return 90;
    case Colour::none:
      break;
  }
  return 0;
}

}  // namespace

bool is_terminal(int fd) {
  return ::isatty(fd) == 1;
}

Style style_of(int fd) {
  return {is_terminal(fd) && !wants_none(), width_of(fd)};
}

std::string Style::paint(std::string_view text, Colour colour) const {
  if (!colours || colour == Colour::none) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(colour), text);
}

namespace {

constexpr std::string_view mark = "…";
constexpr std::size_t most_combined = 4;  // marks on one character, as no language has more of them

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
};

// The first character of non-empty text; an invalid leading byte counts as a character of its own value.
Character first_of(std::string_view text) {
  auto lead = static_cast<unsigned char>(text.front());
  std::size_t bytes = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (bytes == 1 || bytes > text.size()) return {lead, 1};
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return {code, bytes};
}

// Unicode's format characters and line separators, which terminals interpret or hide. Variation selectors are
// not among them: they only choose the look of the character before them.
struct Range {
  char32_t first;
  char32_t last;
};
constexpr Range without_glyph[] = {{0xAD, 0xAD},     {0x034F, 0x034F},   {0x0600, 0x0605},  {0x061C, 0x061C},
                                   {0x115F, 0x1160}, {0x180E, 0x180E},   {0x200B, 0x200F},  {0x2028, 0x202E},
                                   {0x2060, 0x206F}, {0x3164, 0x3164},   {0xFEFF, 0xFEFF},  {0xFFA0, 0xFFA0},
                                   {0xFFF9, 0xFFFB}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

bool has_glyph(char32_t code) {
  if (code < without_glyph[0].first) return true;
  return std::ranges::none_of(without_glyph,
                              [&](const Range& range) { return code >= range.first && code <= range.last; });
}

// Sets the C library's character tables of this thread to UTF-8 during its lifetime.
class InUtf8 {
 public:
  InUtf8() : before_(::uselocale(utf8())) {}
  ~InUtf8() { ::uselocale(before_); }
  InUtf8(const InUtf8&) = delete;
  InUtf8& operator=(const InUtf8&) = delete;

 private:
  static locale_t utf8() {
    static const locale_t made = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return made;
  }
  locale_t before_;
};

std::size_t cells_of(char32_t code) {
  if (code < 0x7F) return 1;
  int width = ::wcwidth(static_cast<wchar_t>(code));
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

// The length in bytes of the longest front of the line with at most so many cells, and its cells.
std::pair<std::size_t, std::size_t> front(std::string_view line, std::size_t most) {
  InUtf8 tables;
  std::size_t bytes = 0;
  std::size_t taken = 0;
  while (bytes < line.size()) {
    Character next = first_of(line.substr(bytes));
    std::size_t more = cells_of(next.code);
    if (taken + more > most) break;
    taken += more;
    bytes += next.bytes;
  }
  return {bytes, taken};
}

void wrap_line(std::string_view line, std::size_t most, std::vector<std::string>& lines) {
  while (true) {
    std::size_t end = front(line, most).first;
    if (end == line.size()) {
      lines.emplace_back(line);
      return;
    }
    end = std::max(end, first_of(line).bytes);
    std::size_t blank = end < line.size() && line[end] == ' ' ? end : line.substr(0, end).rfind(' ');
    bool breaks = blank != std::string_view::npos && line.find_first_not_of(' ') < blank;
    lines.emplace_back(line.substr(0, breaks ? blank : end));
    line.remove_prefix(breaks ? blank + 1 : end);
    if (line.empty()) return;
  }
}

}  // namespace

std::string visible(std::string_view bytes) {
  InUtf8 tables;
  std::string plain = to_plain_text(bytes);
  std::string text;
  text.reserve(plain.size());
  std::size_t combined = 0;
  for (std::string_view rest = plain; !rest.empty();) {
    Character next = first_of(rest);
    combined = cells_of(next.code) == 0 ? combined + 1 : 0;
    if (has_glyph(next.code) && combined <= most_combined)
      text += rest.substr(0, next.bytes);
    else
      text += fmt::format("<U+{:04X}>", static_cast<std::uint32_t>(next.code));
    rest.remove_prefix(next.bytes);
  }
  return text;
}

std::string visible_line(std::string_view bytes) {
  std::string line;
  for (char c : visible(bytes)) {
    if (c == '\n')
      line += "<U+000A>";
    else if (c == '\t')
      line += "    ";
    else
      line += c;
  }
  return line;
}

std::string without_commands(std::string_view text) {
  // A runner skips all of Unicode's spaces at the beginning of a line.
  constexpr Range spaces[] = {{0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                              {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                              {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  std::string inert;
  bool at_begin = true;
  while (!text.empty()) {
    if (text.starts_with("##[")) {
      inert += "##\\";
      text.remove_prefix(2);
    }
    if (at_begin && text.starts_with("::")) inert += '\\';
    const Character next = first_of(text);
    const bool is_space = std::ranges::any_of(
        spaces, [&](const Range& range) { return next.code >= range.first && next.code <= range.last; });
    at_begin = next.code == '\n' || next.code == '\r' || (at_begin && is_space);
    inert += text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
  }
  return inert;
}

std::string for_log(std::string text) {
  const char* is_read = std::getenv("GITHUB_ACTIONS");
  return is_read && std::string_view(is_read) == "true" ? without_commands(text) : std::move(text);
}

std::size_t cells(std::string_view line) {
  InUtf8 tables;
  std::size_t count = 0;
  while (!line.empty()) {
    Character next = first_of(line);
    count += cells_of(next.code);
    line.remove_prefix(next.bytes);
  }
  return count;
}

std::string fitted(std::string_view line, std::size_t most) {
  auto [bytes, taken] = front(line, most);
  if (bytes == line.size()) return std::string(line);
  if (most == 0) return {};
  return std::string(line.substr(0, front(line, most - 1).first)).append(mark);
}

std::string window(std::string_view line, std::size_t begin, std::size_t count) {
  if (begin == 0) return fitted(line, count);
  line.remove_prefix(front(line, begin + 1).first);
  if (line.empty() || count == 0) return line.empty() ? "" : std::string(mark);
  return std::string(mark).append(fitted(line, count - 1));
}

std::string tail_of(std::string_view text, std::size_t max_bytes) {
  text = trim(text);
  if (text.size() <= max_bytes) return std::string(text);
  text.remove_prefix(text.size() - max_bytes);
  while (!text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0) == 0x80) text.remove_prefix(1);
  std::size_t line = text.find('\n');
  if (line != std::string_view::npos && line + 1 < text.size()) text.remove_prefix(line + 1);
  return "...\n" + std::string(text);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t most) {
  std::vector<std::string> lines;
  most = std::max<std::size_t>(most, 1);
  while (true) {
    std::size_t end = text.find('\n');
    wrap_line(text.substr(0, end), most, lines);
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

}  // namespace kw
