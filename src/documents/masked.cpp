#include "documents/masked.h"

#include <cstddef>

namespace kw::documents {
namespace {

constexpr std::string_view inline_marks = "[&\\<*_!";  // stand for control characters 1 to 7
constexpr std::size_t deepest = 100;                   // containers that one line may open

char mask_of(char c) {
  std::size_t at = inline_marks.find(c);
  return at == std::string_view::npos ? c : static_cast<char>(at + 1);
}

bool is_own_mask(char c) {
  return c > 0 && static_cast<std::size_t>(c) <= inline_marks.size();
}

bool is_blank_at(std::string_view text, std::size_t at) {
  return at >= text.size() || text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r';
}

// Where a line's text begins: behind the marks of quotes, lists, headings, fences and underlines. Marks of
// containers beyond the deepest are made text.
std::size_t take_front(std::string& text, std::size_t at) {
  constexpr std::string_view front = " \t>0123456789.)+-*_=#`~";
  std::size_t containers = 0;
  for (; at < text.size() && front.find(text[at]) != std::string_view::npos; ++at) {
    bool bullet =
        std::string_view("+-*.)").find(text[at]) != std::string_view::npos && is_blank_at(text, at + 1);
    if (text[at] != '>' && !bullet) continue;
    if (++containers > deepest) text[at] = 'x';
  }
  return at;
}

}  // namespace

std::string masked(std::string_view text) {
  std::string copy(text);
  for (char& c : copy)
    if (is_own_mask(c)) c = '?';
  for (std::size_t at = 0; at < copy.size();) {
    at = take_front(copy, at);
    // HTML begins here: its tags and their ends are needed.
    bool html = at < copy.size() && copy[at] == '<';
    if (html) ++at;
    for (; at < copy.size() && copy[at] != '\n' && copy[at] != '\r'; ++at) {
      bool end_tag = copy[at] == '<' && at + 1 < copy.size() && copy[at + 1] == '/';
      if (!end_tag && !(html && copy[at] == '_')) copy[at] = mask_of(copy[at]);
    }
    while (at < copy.size() && (copy[at] == '\n' || copy[at] == '\r')) ++at;
  }
  return copy;
}

std::string unmasked(std::string_view text) {
  std::string copy(text);
  for (char& c : copy)
    if (is_own_mask(c)) c = inline_marks[static_cast<std::size_t>(c) - 1];
  return copy;
}

}  // namespace kw::documents
