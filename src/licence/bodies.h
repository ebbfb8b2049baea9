// The wording of licences, found in a text.
#pragma once

#include <string>
#include <vector>

#include "licence/words.h"

namespace kw::licence {

// A licence's text from its first to its last sentence; what lies between was checked for its length and for
// the sentences that make the licence what it is.
struct Body {
  std::string spdx;       // empty: a part that says nothing by itself, such as how to apply the licence
  std::size_t begin = 0;  // in words.text
  std::size_t end = 0;
};

// In the order of the text, none inside another. A text whose length or wording is not the licence's own is
// not among them.
std::vector<Body> bodies(const Words& words);

}  // namespace kw::licence
