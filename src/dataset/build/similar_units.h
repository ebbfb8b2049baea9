// Chooses among units that are equal, equal except for names, or nearly equal.
#pragma once

#include <cstdint>
#include <functional>
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

// Starts with all wanted units. Drops the worse (originals.h) of equal (normalised) units, then of units that
// are equal except for names.
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

}  // namespace kw::dataset
