// All pairs of texts at or over a Jaccard index, without hashing them into bands.
#pragma once

#include <cstdint>
#include <vector>

#include "code/similarity/near.h"

namespace kw::bench {

// Uses an index from each shingle to its texts: exact, and slow where shingles are common.
std::vector<near::Pair> brute_force(const std::vector<std::vector<std::uint64_t>>& sets, double threshold,
                                    unsigned threads);

}  // namespace kw::bench
