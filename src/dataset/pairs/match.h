// Matches units that implement the same function: confidence in a pair, and recognition of PyTorch
// references.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dataset/pairs/profile.h"
#include "dataset/units/unit.h"

namespace kw::pairs {

// The confidence that two units implement the same function.
struct Verdict {
  double confidence = 0;
  std::vector<std::string> reasons;
};

// Rarity of words in names and calls, and of words in paths.
struct Rarities {
  Rarity names;
  Rarity paths;
};

// confidence = name * rarity * (1/2 + support / 2), rounded to three digits, where
//   name     the best likeness of a name of one (its own, or a launcher's: * 0.95 each) with one of the other
//   rarity   Σ rarity of the shared words / 6, at most 1: common words alone ("gemm") give little evidence
//   support  the weighted mean of parameters (0.3), operations (0.3), launchers (0.2), calls (0.1) and
//            path (0.1), without kinds that one side lacks (a kernel that takes one struct)
// Empty if the names contradict each other, or if only the name supports the pair.
std::optional<Verdict> compare(const Profile& from, const Profile& to, const Rarities& rarities);

using Names = std::set<std::string, std::less<>>;

// Names of functions and classes that lead to a Triton kernel: kernels, their launchers, and every PyTorch
// unit that calls one of these by name, directly or indirectly.
Names names_that_launch(const std::vector<corpus::Unit>& units);

// True if the unit leads neither to a Triton kernel nor to another kernel (cuTile, CuTe, TileLang, Pallas,
// Numba, an extension in C++).
bool is_reference(const corpus::Unit& unit, const Names& launching);

}  // namespace kw::pairs
