// Recognises texts of licences by characteristic phrases.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/licence/words.h"

namespace kw::licence {

// All phrases in lower case, words between single spaces.
struct Wording {
  std::string_view spdx;
  std::string_view first;                    // the phrase with which it begins
  std::string_view last;                     // the phrase with which it ends; empty: it ends with the text
  std::size_t min_words = 0;                 // from first to last, both counted
  std::size_t max_words = 0;                 // a longer text has additions
  std::span<const std::string_view> needs;   // in any order between the two
  std::span<const std::string_view> denies;  // words that the licence's text does not contain
};

// Of two licences with equal beginnings, the one with more phrases comes first.
std::span<const Wording> wordings();

// A licence's text from its first to its last sentence; its length and its characteristic sentences were
// checked.
struct Body {
  std::string spdx;       // empty: a part without a licence of its own, such as how to apply the licence
  std::size_t begin = 0;  // in words.text
  std::size_t end = 0;
};

// In the order of the text, not nested. Excludes texts whose length or wording differs from the licence's.
std::vector<Body> bodies(const Words& words);

}  // namespace kw::licence
