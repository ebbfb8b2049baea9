// Rows of units: holes, and pairs of languages.
#pragma once

#include "base/result.h"
#include "dataset/build.h"
#include "dataset/duplicates.h"
#include "dataset/groups.h"
#include "dataset/row_sink.h"
#include "dataset/unit_store.h"

namespace kw::dataset {

struct UnitWorld {
  const UnitStore& units;
  const std::vector<UnitFate>& fates;
  const UnitLeaks& leaks;
};

// Self-contained units with clear shapes first, then in the order of the sources.
Result<> add_fim_rows(const UnitWorld& world, const BuildSettings& settings, const Watch& watch,
                      RowSink& sink);

struct PairTally {
  std::uint64_t cuda = 0;
  std::uint64_t cuda_weak = 0;
  std::uint64_t torch = 0;
};

// CUDA → Triton, then PyTorch → Triton, source after source, then pairs made by hand.
Result<PairTally> add_pair_rows(const UnitWorld& world, std::uint32_t sources, const BuildSettings& settings,
                                RowSink& sink);

// Verified answers of runs: those that are right and count.
Result<> add_trace_rows(const std::vector<std::string>& runs, const BuildSettings& settings, RowSink& sink,
                        Facts& facts);

}  // namespace kw::dataset
