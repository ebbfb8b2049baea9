// Which holes are cut in a unit, and how much of its region goes into the row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/unit.h"
#include "pairs/pairs.h"

namespace kw::pairs {

struct Cut {
  std::string node;
  corpus::Span middle;     // in the unit's region
  std::uint64_t hash = 0;  // of the unit, the seed and the place: decides what is left to chance
};

// One body and as many blocks, expressions and calls as the options ask for, each middle once. Where there
// are more to choose from, those with the smallest hashes are taken.
std::vector<Cut> choose_cuts(const corpus::Unit& unit, corpus::Span function, const FimOptions& options);

// The part of the region around the middle with at most `bytes` bytes: all of it where it fits, else whole
// lines, about as much before the middle as behind it. Nothing where even the middle's lines do not fit.
std::optional<corpus::Span> fit_region(std::string_view region, corpus::Span middle, std::size_t bytes);

}  // namespace kw::pairs
