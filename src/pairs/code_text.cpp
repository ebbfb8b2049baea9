#include "pairs/code_text.h"

#include <algorithm>

#include "base/ascii.h"

namespace kw::pairs {
namespace {

using harvest::Language;

bool is_name_byte(char c) {
  return is_word(c) || static_cast<unsigned char>(c) >= 0x80;
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::size_t after(std::string_view text, std::string_view end, std::size_t from) {
  std::size_t found = text.find(end, from);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

// Behind the literal whose opening quote stands at `at`.
std::size_t after_string(std::string_view text, std::size_t at, Language language) {
  char quote = text[at];
  bool triple = language == Language::python && text.substr(at, 3) == std::string(3, quote);
  std::size_t i = at + (triple ? 3 : 1);
  while (i < text.size()) {
    if (text[i] == '\\') {
      i += 2;
    } else if (triple ? text.substr(i, 3) == std::string(3, quote) : text[i] == quote || text[i] == '\n') {
      return std::min(text.size(), i + (triple ? 3 : 1));
    } else {
      ++i;
    }
  }
  return text.size();
}

bool is_string_prefix(std::string_view word) {
  return word.size() <= 2 && word.find_first_not_of("rRbBfFuU") == std::string_view::npos;
}

// Behind the comment that begins at `at`, or `at` where none does.
std::size_t after_comment(std::string_view text, std::size_t at, Language language) {
  if (language == Language::python) return text[at] == '#' ? after(text, "\n", at) : at;
  if (text.substr(at, 2) == "//") return after(text, "\n", at);
  return text.substr(at, 2) == "/*" ? after(text, "*/", at + 2) : at;
}

std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_name_byte(text[end])) ++end;
  return text.substr(at, end - at);
}

}  // namespace

Language language_of(corpus::UnitKind kind) {
  bool cuda = kind == corpus::UnitKind::cuda_kernel || kind == corpus::UnitKind::cuda_device;
  return cuda ? Language::cuda : Language::python;
}

bool holds_special_token(std::string_view text) {
  for (std::size_t at = text.find("<|"); at != std::string_view::npos; at = text.find("<|", at + 2)) {
    std::size_t end = at + 2 + word_at(text, at + 2).size();
    if (end > at + 2 && text.substr(end, 2) == "|>") return true;
  }
  return false;
}

bool holds_code(std::string_view text, Language language) {
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t behind = after_comment(text, i, language);
    if (behind > i) {
      i = behind;
    } else if (text[i] == '"' || text[i] == '\'') {
      i = after_string(text, i, language);
    } else if (is_name_byte(text[i])) {
      std::string_view word = word_at(text, i);
      i += word.size();
      bool quoted = i < text.size() && (text[i] == '"' || text[i] == '\'') && is_string_prefix(word);
      if (!quoted && word != "pass") return true;
    } else {
      ++i;
    }
  }
  return false;
}

std::string joined(std::initializer_list<std::string_view> pieces) {
  std::string out;
  for (std::string_view piece : pieces) {
    if (std::ranges::all_of(piece, is_blank)) continue;
    if (!out.empty()) out += out.ends_with('\n') ? "\n" : "\n\n";
    out += piece;
  }
  return out;
}

std::string fenced(std::string_view code, std::string_view language) {
  std::string fence = "```";
  while (code.find(fence) != std::string_view::npos) fence += '`';
  std::string out = fence;
  out += language;
  out += '\n';
  out += code;
  if (!code.ends_with('\n')) out += '\n';
  return out + fence + '\n';
}

}  // namespace kw::pairs
