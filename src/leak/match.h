// Where a text goes along with references, window by window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "corpus/place.h"
#include "leak/symbols.h"
#include "leak/window_table.h"

namespace kw::leak {

// How much of a reference a text holds.
struct Extent {
  std::uint32_t windows = 0;  // of the reference's telling ones, each once
  std::uint32_t run = 0;      // the longest piece: windows that follow each other in both
};

struct Match {
  std::uint32_t reference = 0;
  Extent renamed;                   // own names renamed alike
  Extent written;                   // names as written
  std::vector<corpus::Span> spans;  // of the text, in order, apart from each other
};

// By reference, those with at least `least_hits` windows in common. Bounded: a window that the text repeats
// counts a few hundred times, and after a million hits the rest of the text is not looked at.
std::vector<Match> find_matches(const WindowTable& table, std::span<const Symbol> symbols, std::size_t width,
                                std::size_t least_hits);

// Both matches' extents and spans in one; of what a text holds of one reference in two places, the larger.
void merge(Match& into, const Match& from);

}  // namespace kw::leak
