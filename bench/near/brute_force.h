// All pairs of texts at or over a Jaccard index, without hashing them into bands.
#pragma once

#include <cstdint>
#include <vector>

#include "near/near.h"

namespace kw::bench {

// By an index from each shingle to the texts that have it: exact, and slow where shingles are common.
std::vector<near::Pair> brute_force(const std::vector<std::vector<std::uint64_t>>& sets, double threshold,
                                    unsigned threads);

}  // namespace kw::bench
