#include "code/answers/extraction.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "base/core/text.h"

namespace kw {
namespace {

constexpr std::string_view thought_opens = "<think>";
constexpr std::string_view thought_closes = "</think>";

// A quoted tag is only mentioned.
bool is_quoted(std::string_view text, std::size_t at) {
  return at > 0 && std::string_view("`'\"").find(text[at - 1]) != std::string_view::npos;
}

Parted parted(std::string_view thought, std::string_view answer) {
  return {std::string(trim(thought)), std::string(trim(answer))};
}

}  // namespace

std::optional<Parted> part_thought(std::string_view text, bool ended, bool elsewhere) {
  std::size_t start = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  bool opened = text.substr(start).starts_with(thought_opens);
  std::size_t from = opened ? start + thought_opens.size() : 0;
  std::size_t close = text.find(thought_closes);
  while (close != std::string_view::npos && is_quoted(text, close))
    close = text.find(thought_closes, close + 1);
  if (close == std::string_view::npos) {
    if (opened && !ended) return parted(text.substr(from), {});
    return {};
  }
  bool later = !opened && text.substr(0, close).find(thought_opens) != std::string_view::npos;
  if (later || (!opened && elsewhere)) return {};
  return parted(text.substr(from, close - from), text.substr(close + thought_closes.size()));
}

namespace {

// The run of backticks or tildes at a line's beginning, and the text after it.
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
  // ```x``` on one line opens no block.
  if (length < 3 || info.find('`') != std::string_view::npos) return {};
  return Mark{rest[0], length, begin, info};
}

// Tracks whether a docstring is open after the lines that were passed.
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

// "import a.b", "import a as b" or "import a, b", but not a sentence that begins with the word.
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

namespace {

constexpr std::string_view opening = "<triton>";
constexpr std::string_view closing = "</triton>";

struct Tagged {
  std::vector<std::string_view> closed;  // the insides in order; of nested opening tags, the innermost
  std::optional<std::string_view> open;  // the text after a last, unclosed tag
};

Tagged find_tagged(std::string_view text) {
  Tagged found;
  std::string lowered = lower(text);
  std::optional<std::size_t> begin;
  for (std::size_t at = lowered.find('<'); at != lowered.npos; at = lowered.find('<', at + 1)) {
    std::string_view rest = std::string_view(lowered).substr(at);
    if (rest.starts_with(opening)) begin = at + opening.size();
    if (rest.starts_with(closing) && begin) {
      found.closed.push_back(text.substr(*begin, at - *begin));
      begin.reset();
    }
  }
  if (begin) found.open = text.substr(*begin);
  return found;
}

// Whether the tags are only mentioned: both are in the middle of one line.
bool spoken_of(std::string_view text, std::string_view inside) {
  if (inside.find('\n') != std::string_view::npos) return false;
  auto tag = static_cast<std::size_t>(inside.data() - text.data()) - opening.size();
  std::size_t before = text.substr(0, tag).find_last_not_of(" \t\r");
  return before != std::string_view::npos && text[before] != '\n';
}

bool is_python(std::string_view language) {
  std::string name = lower(language);
  return name.empty() || name == "python" || name == "py" || name == "python3" || name == "triton";
}

// The body without the indentation of its fence, newlines as "\n".
std::string text_of(std::string_view body, std::size_t indentation) {
  std::string text;
  text.reserve(body.size());
  for (std::size_t at = 0; at < body.size(); at = after_line(body, at)) {
    std::string_view line = body.substr(at, after_line(body, at) - at);
    std::size_t blank = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(std::min(blank, indentation));
    bool ends = line.ends_with('\n');
    if (ends) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text += line;
    if (ends) text += '\n';
  }
  return text;
}

std::string text_of(const Fence& fence) {
  return text_of(fence.body, fence.indentation);
}

std::optional<Fence> last_fence(const std::vector<Fence>& fences, bool closed, bool jitted) {
  std::optional<Fence> last;
  for (const Fence& fence : fences) {
    bool kernel = fence.body.find("@triton.jit") != std::string_view::npos;
    if (fence.closed == closed && (jitted ? kernel : is_python(fence.language))) last = fence;
  }
  return last;
}

std::optional<Fence> last_fence(const std::vector<Fence>& fences, bool closed) {
  auto kernel = last_fence(fences, closed, true);
  return kernel ? kernel : last_fence(fences, closed, false);
}

// Removes a fence within the tags and the prose before it; a later fence belongs to the code.
std::string inside_of(std::string_view tagged) {
  auto fences = find_fences(tagged);
  if (!fences.empty()) {
    auto fence = last_fence(fences, true);
    if (!fence) fence = last_fence(fences, false);
    auto before = static_cast<std::size_t>(fences.front().body.data() - tagged.data());
    if (fence && !looks_like_python(tagged.substr(0, before))) return text_of(*fence);
  }
  if (trim(line_at(tagged, 0)).empty()) tagged.remove_prefix(after_line(tagged, 0));
  return text_of(tagged, 0);
}

}  // namespace

std::string extract_code(std::string_view completion) {
  Tagged tagged = find_tagged(completion);
  for (auto inside = tagged.closed.rbegin(); inside != tagged.closed.rend(); ++inside)
    if (looks_like_python(*inside)) return inside_of(*inside);
  auto fences = find_fences(completion);
  if (auto kernel = last_fence(fences, true, true)) return text_of(*kernel);
  for (auto inside = tagged.closed.rbegin(); inside != tagged.closed.rend(); ++inside)
    if (!spoken_of(completion, *inside)) return inside_of(*inside);
  if (auto python = last_fence(fences, true, false)) return text_of(*python);
  if (tagged.open && looks_like_python(*tagged.open)) return inside_of(*tagged.open);
  if (auto cut = last_fence(fences, false); cut && looks_like_python(cut->body)) return text_of(*cut);
  return looks_like_python(completion) ? text_of(completion, 0) : std::string();
}

std::string extract_answered_code(std::string_view completion) {
  auto parted = part_thought(completion, false);
  return extract_code(parted ? std::string_view(parted->answer) : completion);
}

bool is_completion_file(std::string_view path) {
  return path.ends_with(".md") || path.ends_with(".txt");
}

}  // namespace kw
