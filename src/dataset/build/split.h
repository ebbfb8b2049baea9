// Assigns families of units to the training or the validation split.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/core/result.h"
#include "dataset/build/build.h"
#include "dataset/build/found_pairs.h"
#include "dataset/build/similar_units.h"
#include "dataset/build/unit_store.h"

namespace kw::dataset {

// Units that must be in one split: all units of a file, since a hole's prompt shows the rest of its file,
// and the units of files that contain near copies of each other.
struct Family {
  std::string name;           // the smallest id of its units: fixes its place in the random order
  std::uint64_t kernels = 0;  // kept units that become rows of their own
  // Families whose rows show code of this one, as a helper or as the source of a pair. If this family is in
  // validation, so are these.
  std::vector<std::uint32_t> users;
};

// The families of validation. Takes them in an order that depends on name and seed only, each with its
// users, while that brings the number of kernels closer to `share` of all. A family of more than a quarter
// of that number is taken only if smaller ones do not suffice.
std::vector<bool> choose_validation(const std::vector<Family>& families, double share, std::uint64_t seed);

struct UnitSplit {
  std::vector<bool> validation;                                        // by unit
  std::unordered_map<std::uint32_t, std::vector<corpus::Leak>> leaks;  // "rows" and "split", by unit
};

// Finds the families, and chooses those of validation. Flags kept units that share most of their words, and
// train units that contain pieces of validation units.
Result<UnitSplit> split_units(const UnitStore& units, const std::vector<UnitFate>& fates,
                              const FoundPairs& pairs, const BuildSettings& settings, const Watch& watch,
                              SplitFacts& facts);

// The split of a task's answers: equal for equal name and seed.
bool in_validation(const std::string& name, std::uint64_t seed, double share);

}  // namespace kw::dataset
