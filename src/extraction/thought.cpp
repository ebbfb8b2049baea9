#include "extraction/thought.h"

#include <algorithm>

#include "base/text.h"

namespace kw {
namespace {

constexpr std::string_view opening = "<think>";
constexpr std::string_view closing = "</think>";

// Quoted, it is talked about.
bool is_quoted(std::string_view text, std::size_t at) {
  return at > 0 && std::string_view("`'\"").find(text[at - 1]) != std::string_view::npos;
}

Parted parted(std::string_view thought, std::string_view answer) {
  return {std::string(trim(thought)), std::string(trim(answer))};
}

}  // namespace

std::optional<Parted> part_thought(std::string_view text, bool ended, bool elsewhere) {
  std::size_t start = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  bool opened = text.substr(start).starts_with(opening);
  std::size_t from = opened ? start + opening.size() : 0;
  std::size_t close = text.find(closing);
  while (close != std::string_view::npos && is_quoted(text, close)) close = text.find(closing, close + 1);
  if (close == std::string_view::npos) {
    if (opened && !ended) return parted(text.substr(from), {});
    return {};
  }
  bool later = !opened && text.substr(0, close).find(opening) != std::string_view::npos;
  if (later || (!opened && elsewhere)) return {};
  return parted(text.substr(from, close - from), text.substr(close + closing.size()));
}

}  // namespace kw
