// Chooses among units that are equal, equal except for names, or nearly equal, and assigns groups of similar
// units to splits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"
#include "dataset/build/build.h"
#include "dataset/build/unit_store.h"

namespace kw::dataset {

// Chooses among units that are equal, equal except for names, or nearly equal.
BOOST_DEFINE_ENUM_CLASS(Fate, out, kept, exact, renamed, near)

struct UnitFate {
  Fate fate = Fate::out;      // out: its licence or its kind
  std::uint32_t kept_as = 0;  // number of the unit that is kept in its place
  double jaccard = 1;         // with that unit
  bool has_cluster = false;   // of kept units: another unit was dropped for it
};

// The order of preference: an allowed licence with a name, compilable, more stars, self-contained, longer
// text; ids break ties.
bool better(const UnitCard& a, const UnitCard& b);

// Starts with all wanted units. Drops the worse of equal (normalised) units, then of units that are equal
// except for names.
std::vector<UnitFate> drop_equal(const UnitStore& units, const std::function<bool(const UnitCard&)>& wanted,
                                 DuplicateFacts& facts);

// Pairs of similar units, by their index in `numbers`. Sketches of known texts come from the state;
// sketched_bytes counts the newly sketched texts.
Result<near::Joined> join_units(const UnitStore& units, const std::vector<std::uint32_t>& numbers,
                                const near::Parameters& parameters, const BuildSettings& settings,
                                const Watch& watch, std::uint64_t& sketched_bytes);

// Near duplicates among the units kept so far.
Result<> drop_near(UnitStore& units, std::vector<UnitFate>& fates, const BuildSettings& settings,
                   const Watch& watch, DuplicateFacts& facts, std::vector<Stage>& stages);

// Groups of units that share most of their words. All units of a group are in the same split, and reports
// list them together.
struct UnitLeaks {
  std::vector<bool> validation;                                        // by unit
  std::unordered_map<std::uint32_t, std::vector<corpus::Leak>> leaks;  // "rows" and "split", by unit
};

// Finds pairs of kept units with a word Jaccard index at or over the threshold, connects them to groups,
// assigns each group to a split by a hash of its smallest id, and finds train units that contain pieces of
// validation units.
Result<UnitLeaks> split_units(const UnitStore& units, const std::vector<UnitFate>& fates,
                              const BuildSettings& settings, const Watch& watch);

// The split of a group: equal for equal name and seed.
bool in_validation(const std::string& name, std::uint64_t seed, double share);

}  // namespace kw::dataset
