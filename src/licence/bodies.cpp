#include "licence/bodies.h"

#include <algorithm>

#include "licence/body_table.h"

namespace kw::licence {
namespace {

// No text is looked at for more beginnings of one licence: whoever joins more than that is read as unknown.
constexpr std::size_t max_tries = 50;

bool contains(std::string_view spaced, std::string_view phrase) {
  for (std::size_t at = spaced.find(phrase); at != std::string_view::npos; at = spaced.find(phrase, at + 1))
    if (at > 0 && spaced[at - 1] == ' ' && at + phrase.size() < spaced.size() &&
        spaced[at + phrase.size()] == ' ')
      return true;
  return false;
}

// The end of the last phrase after `from`, or npos.
std::size_t end_of(const Words& words, const Wording& wording, std::size_t from) {
  if (wording.last.empty()) return words.text.size() - 1;
  const std::size_t at = find_phrase(words, wording.last, from);
  return at == std::string::npos ? at : at + wording.last.size() + 1;
}

bool fits(std::string_view spaced, const Wording& wording) {
  const std::size_t count = count_words(spaced);
  if (count < wording.min_words || (wording.max_words > 0 && count > wording.max_words)) return false;
  const auto has = [&](std::string_view phrase) { return contains(spaced, phrase); };
  return std::all_of(wording.needs.begin(), wording.needs.end(), has) &&
         std::none_of(wording.denies.begin(), wording.denies.end(), has);
}

bool overlaps(const std::vector<Body>& found, std::size_t begin, std::size_t end) {
  return std::any_of(found.begin(), found.end(),
                     [&](const Body& each) { return begin < each.end && each.begin < end; });
}

void find_all(const Words& words, const Wording& wording, std::vector<Body>& found) {
  // Longer than any wording is: what is further away belongs to another text.
  constexpr std::size_t widest = std::size_t{64} << 10;
  std::size_t at = find_phrase(words, wording.first);
  for (std::size_t tries = 0; at != std::string::npos && tries < max_tries; ++tries) {
    const std::size_t end = end_of(words, wording, at);
    if (end == std::string::npos) return;
    const bool near = wording.last.empty() || end - at <= widest;
    if (near && fits(std::string_view(words.text).substr(at, end + 1 - at), wording)) {
      // What goes to the end of the text may have others after it.
      const std::size_t own_end = wording.last.empty() ? at + wording.first.size() + 1 : end;
      if (!overlaps(found, at, own_end)) found.push_back({std::string(wording.spdx), at, end});
    }
    // To the end it goes from its first beginning; a later one has less.
    if (wording.last.empty()) return;
    at = find_phrase(words, wording.first, at + 1);
  }
}

}  // namespace

std::vector<Body> bodies(const Words& words) {
  std::vector<Body> found;
  for (const Wording& wording : wordings()) find_all(words, wording, found);
  std::sort(found.begin(), found.end(), [](const Body& a, const Body& b) { return a.begin < b.begin; });
  return found;
}

}  // namespace kw::licence
