// Finds pairs of units for rows, before the split: both units of a pair belong to one side of it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/core/result.h"
#include "dataset/build/build.h"
#include "dataset/build/similar_units.h"
#include "dataset/build/unit_store.h"

namespace kw::dataset {

struct FoundPair {
  std::uint32_t from = 0;  // number of the CUDA or PyTorch unit
  std::uint32_t to = 0;    // number of the Triton unit
  corpus::PairEvidence evidence;
};

struct FoundPairs {
  std::vector<FoundPair> cuda;  // by source, the best first
  std::vector<FoundPair> torch;
  std::uint64_t cuda_weak = 0;  // under the required confidence
};

// Compares the units of each source with each other. Of equal pairs, takes the first.
Result<FoundPairs> find_pairs(const UnitStore& units, const std::vector<UnitFate>& fates,
                              std::uint32_t sources, const BuildSettings& settings);

}  // namespace kw::dataset
