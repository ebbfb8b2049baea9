// Which units are kept of those that are equal, equal but for names, or nearly equal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/build.h"
#include "dataset/unit_store.h"

namespace kw::dataset {

enum class Fate { out, kept, exact, renamed, near };

std::string_view to_string(Fate fate);

struct UnitFate {
  Fate fate = Fate::out;      // out: its licence or its kind
  std::uint32_t kept_as = 0;  // number of the unit that stands for it
  double jaccard = 1;         // with that unit
  bool has_cluster = false;   // of kept units: something was left out for it
};

// Better units are kept: an allowed licence with a name, one that compiles, more stars, self-contained, the
// longer text; ids decide between equals.
bool better(const UnitCard& a, const UnitCard& b);

// Units that are wanted at all start as kept; equal ones (normalised), then those equal but for names, lose
// to the better one.
std::vector<UnitFate> drop_equal(const UnitStore& units, const std::function<bool(const UnitCard&)>& wanted,
                                 DuplicateFacts& facts);

// Pairs of these units, by their place in `numbers`, that resemble each other. Sketches of texts that were
// seen before are taken from the state; sketched_bytes is what had to be sketched.
Result<near::Joined> join_units(const UnitStore& units, const std::vector<std::uint32_t>& numbers,
                                const near::Parameters& parameters, const BuildSettings& settings,
                                const Watch& watch, std::uint64_t& sketched_bytes);

// Near duplicates among what is kept so far.
Result<> drop_near(UnitStore& units, std::vector<UnitFate>& fates, const BuildSettings& settings,
                   const Watch& watch, DuplicateFacts& facts, std::vector<Stage>& stages);

}  // namespace kw::dataset
