// Labels units by compilation, and makes rows from units and runs: holes, language pairs, verified answers.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/core/result.h"
#include "dataset/build/build.h"
#include "dataset/build/found_pairs.h"
#include "dataset/build/row_sink.h"
#include "dataset/build/similar_units.h"
#include "dataset/build/split.h"
#include "dataset/build/unit_store.h"

namespace kw::dataset {

// Labels the kept units of Triton, and those of CUDA that become rows. Works in batches, so that not all
// texts are in memory.
Result<> compile_units(UnitStore& units, const std::vector<UnitFate>& fates, const BuildSettings& settings,
                       const Watch& watch, std::vector<Stage>& stages);

// Makes rows from units: holes and language pairs.
struct UnitWorld {
  const UnitStore& units;
  const std::vector<UnitFate>& fates;
  const UnitSplit& split;
};

// Kernels of which no row was made, by their numbers, with the reason.
using WithoutRows = std::map<std::uint32_t, std::string>;

// Self-contained units with clear shapes first, then in the order of the sources. Of equal completions, only
// the first few are kept.
Result<WithoutRows> add_fim_rows(const UnitWorld& world, const BuildSettings& settings, const Watch& watch,
                                 RowSink& sink);

struct PairTally {
  std::uint64_t cuda = 0;
  std::uint64_t torch = 0;
  // Of the pairs of folders: the folder, or the packages and checkouts that its lines name.
  std::vector<SourceFacts> sources;
};

// CUDA → Triton, the pairs of the folders `hand_made`, then PyTorch → Triton.
Result<PairTally> add_pair_rows(const UnitWorld& world, const FoundPairs& pairs,
                                const std::vector<std::string>& hand_made, const BuildSettings& settings,
                                RowSink& sink);

// Verified answers of runs that are correct and count.
Result<> add_trace_rows(const std::vector<std::string>& runs, const BuildSettings& settings, RowSink& sink,
                        BuildSummary& facts);

}  // namespace kw::dataset
