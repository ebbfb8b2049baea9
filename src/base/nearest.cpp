#include "base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace kw {
namespace {

// Levenshtein's distance: letters put in, taken out or replaced.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& words) {
  std::string best;
  std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    std::size_t needed = edits(word, candidate);
    if (needed < fewest) {
      fewest = needed;
      best = candidate;
    }
  }
  return best;
}

}  // namespace kw
