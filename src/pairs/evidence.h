// How much speaks for two units being one function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pairs/profile.h"

namespace kw::pairs {

struct Verdict {
  double confidence = 0;
  std::vector<std::string> reasons;
};

// Of words in names and calls, and of words in paths.
struct Rarities {
  Rarity names;
  Rarity paths;
};

// confidence = name * rarity * (1/2 + support / 2), rounded to three digits, where
//   name     the best likeness of a name of one (its own, or a launcher's: * 0.95 each) with one of the other
//   rarity   Σ rarity of the shared words / 6, at most 1: "gemm" alone says little where everything is a gemm
//   support  the mean of what can be said, weighted: parameters 0.3, operations 0.3, launchers 0.2, calls
//   0.1,
//            path 0.1. What one side does not have (a kernel that takes one struct) is left out of the mean.
// Nothing where names contradict each other, or where no kind but the name supports the pair.
std::optional<Verdict> compare(const Profile& from, const Profile& to, const Rarities& rarities);

}  // namespace kw::pairs
