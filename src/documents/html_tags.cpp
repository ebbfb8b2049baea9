#include "documents/html_tags.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.h"

namespace kw::documents {
namespace {

constexpr std::size_t none = std::string_view::npos;
constexpr std::string_view blank = " \t\n\r\f";
constexpr std::size_t deepest = 100;
constexpr std::size_t most_attributes = 100;

constexpr std::array<std::string_view, 3> without_end = {"br", "wbr", "img"};
constexpr std::array<std::string_view, 33> code_tags = {
    "a",    "abbr", "b",     "big",  "button", "cite",   "code", "del", "dfn", "div", "em",
    "font", "i",    "ins",   "kbd",  "label",  "li",     "mark", "ol",  "p",   "pre", "q",
    "s",    "samp", "small", "span", "strike", "strong", "sub",  "sup", "tt",  "u",   "var"};

// One past the attribute's value, which begins behind the '='.
std::size_t end_of_value(std::string_view html, std::size_t at) {
  at = html.find_first_not_of(blank, at);
  if (at == none) return none;
  if (html[at] == '"' || html[at] == '\'') {
    at = html.find(html[at], at + 1);
    return at == none ? none : at + 1;
  }
  return html.find_first_of(" \t\n\r\f>", at);
}

// One past the attribute that begins here, or none.
std::size_t end_of_attribute(std::string_view html, std::size_t at) {
  at = html.find_first_of(" \t\n\r\f/>=", at + 1);
  if (at != none) at = html.find_first_not_of(blank, at);
  if (at == none || html[at] != '=') return at;
  return end_of_value(html, at + 1);
}

template <std::size_t N>
bool is_one_of(const Tag& tag, const std::array<std::string_view, N>& names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return iequals(tag.name, name); });
}

}  // namespace

std::optional<Tag> tag_at(std::string_view html, std::size_t at) {
  Tag tag;
  tag.begin = at++;
  tag.closes = at < html.size() && html[at] == '/';
  if (tag.closes) ++at;
  if (at >= html.size() || !is_letter(html[at])) return {};
  std::size_t name = at;
  at = std::min(html.find_first_of(" \t\n\r\f/>", at), html.size());
  tag.name = html.substr(name, at - name);
  while (true) {
    at = at == none ? none : html.find_first_not_of(" \t\n\r\f/", at);
    if (at == none || html[at] == '>') break;
    ++tag.attributes;
    at = end_of_attribute(html, at);
  }
  tag.end = at == none ? none : at + 1;
  return tag;
}

bool is_plain(std::string_view piece) {
  std::vector<Tag> open;
  for (std::size_t at = piece.find('<'); at != none; at = piece.find('<', at)) {
    auto tag = tag_at(piece, at);
    if (!tag) {
      // Where a comment ends differs from parser to parser.
      std::string_view next = piece.substr(at + 1, 1);
      if (next == "!" || next == "?" || next == "/") return false;
      ++at;
      continue;
    }
    at = tag->end;
    if (at == none || tag->attributes > most_attributes) return false;
    if (!tag->closes && is_one_of(*tag, without_end)) continue;
    if (tag->closes) {
      if (open.empty() || !iequals(open.back().name, tag->name)) return false;
      open.pop_back();
      continue;
    }
    if (!is_one_of(*tag, code_tags) || open.size() == deepest) return false;
    open.push_back(*tag);
  }
  return true;
}

}  // namespace kw::documents
