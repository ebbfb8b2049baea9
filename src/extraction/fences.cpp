#include "extraction/fences.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"

namespace kw {
namespace {

// The run of backticks or tildes at a line's beginning, and what stands behind it.
struct Mark {
  char kind = '`';
  std::size_t length = 0;
  std::size_t indentation = 0;
  std::string_view info;
};

std::optional<Mark> mark_of(std::string_view line) {
  std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  std::string_view rest = line.substr(begin);
  if (rest.empty() || (rest[0] != '`' && rest[0] != '~')) return {};
  std::size_t length = std::min(rest.find_first_not_of(rest[0]), rest.size());
  std::string_view info = trim(rest.substr(length));
  // ```x``` on one line is no block.
  if (length < 3 || info.find('`') != std::string_view::npos) return {};
  return Mark{rest[0], length, begin, info};
}

// Whether a docstring is open after the lines that it was shown.
class Docstring {
 public:
  void pass(std::string_view line) {
    double_ = double_ != is_odd(line, "\"\"\"");
    single_ = single_ != is_odd(line, "'''");
  }
  bool open() const { return double_ || single_; }

 private:
  static bool is_odd(std::string_view line, std::string_view quotes) {
    bool odd = false;
    for (std::size_t at = line.find(quotes); at != line.npos; at = line.find(quotes, at + quotes.size()))
      odd = !odd;
    return odd;
  }

  bool double_ = false;
  bool single_ = false;
};

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t{"));
}

bool is_identifier(std::string_view text) {
  auto part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, part);
}

// "import a.b", "import a as b", "import a, b": no sentence that begins with this word.
bool is_import(std::string_view line) {
  constexpr std::string_view word = "import ";
  if (!line.starts_with(word)) return false;
  std::string_view rest = trim(line.substr(word.size()));
  std::size_t end = std::min(rest.find_first_of(" ,#;"), rest.size());
  if (!is_identifier(rest.substr(0, end))) return false;
  rest = trim(rest.substr(end));
  return rest.empty() || rest[0] == ',' || rest[0] == '#' || rest[0] == ';' || rest.starts_with("as ");
}

bool is_from_import(std::string_view line) {
  constexpr std::string_view word = "from ";
  if (!line.starts_with(word)) return false;
  std::string_view rest = trim(line.substr(word.size()));
  std::size_t end = std::min(rest.find(' '), rest.size());
  return is_identifier(rest.substr(0, end)) && trim(rest.substr(end)).starts_with("import ");
}

// "def f(", "class C(" and "class C:".
bool is_definition(std::string_view line) {
  for (std::string_view word : {"def ", "class ", "async def "}) {
    if (!line.starts_with(word)) continue;
    std::string_view rest = trim(line.substr(word.size()));
    std::size_t end = std::min(rest.find_first_of("(:"), rest.size());
    if (end < rest.size() && is_identifier(trim(rest.substr(0, end)))) return true;
  }
  return false;
}

}  // namespace

std::string_view line_at(std::string_view text, std::size_t offset) {
  return text.substr(offset, text.find('\n', offset) - offset);
}

std::size_t after_line(std::string_view text, std::size_t offset) {
  std::size_t end = text.find('\n', offset);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::vector<Fence> find_fences(std::string_view text) {
  std::vector<Fence> found;
  std::optional<Mark> open;
  Docstring docstring;
  std::size_t body = 0;
  for (std::size_t at = 0; at < text.size(); at = after_line(text, at)) {
    auto mark = mark_of(line_at(text, at));
    if (!mark) {
      if (open) docstring.pass(line_at(text, at));
      continue;
    }
    if (open) {
      if (mark->kind != open->kind || mark->length < open->length || docstring.open()) continue;
      found.back().body = text.substr(body, at - body);
      found.back().closed = mark->info.empty();
      open.reset();
      if (found.back().closed) continue;
    }
    open = mark;
    docstring = {};
    body = after_line(text, at);
    found.push_back({first_word(mark->info), text.substr(body), mark->indentation, false});
  }
  return found;
}

bool looks_like_python(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at = after_line(text, at)) {
    std::string_view line = trim(line_at(text, at));
    if (is_import(line) || is_from_import(line) || is_definition(line) || line.starts_with("@triton."))
      return true;
  }
  return false;
}

}  // namespace kw
