// Units that share most of their words: they go to one side of the split together, and are shown to people.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "dataset/build.h"
#include "dataset/duplicates.h"
#include "dataset/unit_store.h"

namespace kw::dataset {

struct UnitLeaks {
  std::vector<bool> validation;                                        // by unit
  std::unordered_map<std::uint32_t, std::vector<corpus::Leak>> leaks;  // "rows" and "split", by unit
};

// Pairs of kept units with a word Jaccard at or over the threshold, groups of such, the side of each group by
// a hash of its smallest id, and train units that hold pieces of validation units.
Result<UnitLeaks> split_units(const UnitStore& units, const std::vector<UnitFate>& fates,
                              const BuildSettings& settings, const Watch& watch);

// Which side a group goes to: the same for the same name and seed.
bool in_validation(const std::string& name, std::uint64_t seed, double share);

}  // namespace kw::dataset
