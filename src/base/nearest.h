// Spelling: the word that was meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw {

// The word that takes the fewest edits to become the given one; empty where none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& words);

}  // namespace kw
