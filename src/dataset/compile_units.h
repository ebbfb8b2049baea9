// Compile labels of the units that may be kept.
#pragma once

#include "base/result.h"
#include "dataset/build.h"
#include "dataset/duplicates.h"
#include "dataset/unit_store.h"

namespace kw::dataset {

// Of the units that are kept so far: Triton's, and CUDA's where they become rows. Some at a time, so that not
// all of their texts are in memory at once.
Result<> compile_units(UnitStore& units, const std::vector<UnitFate>& fates, const BuildSettings& settings,
                       const Watch& watch, std::vector<Stage>& stages);

}  // namespace kw::dataset
