#include <algorithm>
#include <array>

#include "licence/bodies.h"
#include "licence/expression.h"
#include "licence/licence.h"
#include "licence/names.h"
#include "licence/words.h"

namespace kw::licence {
namespace {

constexpr std::size_t max_bytes = std::size_t{2} << 20;
// Titles, owners, and a few sentences on what the text is for: more than that may be a clause.
constexpr std::size_t max_other_words = 150;
// A licence file that only refers to a licence is short.
constexpr std::size_t max_reference_words = 200;

// Outside a licence's own wording these words take something back.
constexpr std::array<std::string_view, 30> taking_back{
    "commercial", "noncommercial",    "commercially",   "may not",         "shall",    "must",
    "must not",   "not permitted",    "permitted only", "prohibited",      "prohibit", "forbidden",
    "restrict",   "restricted",       "restriction",    "restrictions",    "only",     "provided that",
    "research",   "academic",         "educational",    "notwithstanding", "military", "evil",
    "not apply",  "additional terms", "not be used",    "condition",       "addendum", "proprietary"};

bool has(std::string_view spaced, std::string_view phrase) {
  for (std::size_t at = spaced.find(phrase); at != std::string_view::npos; at = spaced.find(phrase, at + 1))
    if (at > 0 && spaced[at - 1] == ' ' && at + phrase.size() < spaced.size() &&
        spaced[at + phrase.size()] == ' ')
      return true;
  return false;
}

bool takes_back(std::string_view spaced) {
  return std::any_of(taking_back.begin(), taking_back.end(),
                     [&](std::string_view phrase) { return has(spaced, phrase); });
}

// What of the text is in no known wording. Lines on who owns it are left out of the count, not of the look.
struct Others {
  std::string spaced = " ";
  std::size_t counted = 0;
};

void add_line(std::string_view spaced, Others& others) {
  if (spaced.size() < 2) return;
  others.spaced += spaced.substr(1);
  if (has(spaced, "copyright") || has(spaced, "all rights reserved") ||
      has(spaced, "end of terms and conditions"))
    return;
  others.counted += count_words(spaced);
}

Others others_of(const Words& words, const std::vector<Body>& texts) {
  Others others;
  std::size_t next_body = 0;
  for (std::size_t i = 0; i < words.lines.size(); ++i) {
    std::size_t begin = words.lines[i].begin;
    const std::size_t end = i + 1 < words.lines.size() ? words.lines[i + 1].begin : words.text.size() - 1;
    while (begin < end) {
      while (next_body < texts.size() && texts[next_body].end <= begin) ++next_body;
      if (next_body == texts.size() || texts[next_body].begin >= end) {
        add_line(std::string_view(words.text).substr(begin, end + 1 - begin), others);
        break;
      }
      const std::size_t stop = std::max(begin, texts[next_body].begin);
      add_line(std::string_view(words.text).substr(begin, stop + 1 - begin), others);
      begin = texts[next_body].end;
    }
  }
  return others;
}

Words words_from(std::string spaced) {
  Words words;
  words.text = std::move(spaced);
  words.lines.push_back({0, 1});
  return words;
}

}  // namespace

std::optional<std::string> from_text(std::string_view bytes) {
  if (bytes.size() > max_bytes) return std::nullopt;
  const Words words = words_of(bytes);
  const std::vector<Body> texts = bodies(words);
  std::vector<std::string> all;
  for (const Body& body : texts)
    if (!body.spdx.empty()) all.push_back(body.spdx);
  if (all.empty()) {
    // "Licensed under the Apache License, Version 2.0": a reference in place of the text.
    if (count_words(words.text) > max_reference_words || takes_back(words.text)) return std::nullopt;
    for (const Mention& mention : mentions(words)) all.push_back(mention.spdx);
    return all.empty() ? std::nullopt : std::optional(both(all));
  }
  const Others others = others_of(words, texts);
  const bool copyleft = std::any_of(texts.begin(), texts.end(),
                                    [&](const Body& each) { return each.end == words.text.size() - 1; });
  std::vector<Mention> named = mentions(words_from(others.spaced));
  const bool forbids = std::any_of(named.begin(), named.end(), [](const Mention& each) {
    return each.spdx.starts_with("LicenseRef-") || each.spdx.starts_with("CC-BY-NC");
  });
  if (!copyleft && !forbids && (others.counted > max_other_words * all.size() || takes_back(others.spaced)))
    return std::nullopt;
  for (Mention& mention : named) all.push_back(std::move(mention.spdx));
  return both(all);
}

}  // namespace kw::licence
