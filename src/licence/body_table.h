// What each licence's wording is known by. Own to bodies.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace kw::licence {

// All phrases in lower case, words between single spaces.
struct Wording {
  std::string_view spdx;
  std::string_view first;                   // the phrase it begins with
  std::string_view last;                    // and the one it ends with; empty: it goes to the end of the text
  std::size_t min_words = 0;                // from first to last, both counted
  std::size_t max_words = 0;                // beyond it something was added
  std::span<const std::string_view> needs;  // in any order between the two
  std::span<const std::string_view> denies;  // words that its own text does not have
};

// Of two that begin alike the one that needs more comes first.
std::span<const Wording> wordings();

}  // namespace kw::licence
