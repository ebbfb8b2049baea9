// Units → rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "corpus/row.h"
#include "corpus/unit.h"

namespace kw::pairs {

enum class Rendering { mixed, psm, spm, both };

struct FimOptions {
  Rendering rendering = Rendering::mixed;  // mixed: one of the two a hole, by the hole's hash
  unsigned blocks = 1;                     // holes of each kind a unit, at most
  unsigned expressions = 1;
  unsigned calls = 1;
  std::size_t least_middle_bytes = 8;
  std::size_t longest_row_bytes = 65'536;  // prompt and completion together
  std::uint64_t seed = 0;
};

// What became of the rows that could have been made; added to, so that one tally serves many units.
struct FimTally {
  std::uint64_t rows = 0;
  std::uint64_t special_tokens = 0;  // left out: the text holds <|...|> itself
  std::uint64_t too_long = 0;        // left out: over longest_row_bytes
  std::uint64_t no_code = 0;         // bodies left out: too short, or docstring and comments only
  std::uint64_t torn = 0;            // units whose region does not hold their text: no holes
};

// The rows of a triton or CUDA unit: signature and context → body, then holes cut along the syntax tree.
// In each, prefix + middle + suffix is compared with the region's bytes; a mismatch is a bug and ends the
// program. The same unit, options and seed give the same rows.
std::vector<corpus::Row> fim_rows(const corpus::Unit& unit, const FimOptions& options,
                                  FimTally* tally = nullptr);

// Of one unit's pair: what the matcher needs, kept in memory for a whole corpus.
struct Match {
  std::size_t from = 0;  // index of the CUDA or PyTorch unit
  std::size_t to = 0;    // index of the triton unit
  corpus::PairEvidence evidence;
};

struct MatchOptions {
  double least_confidence = 0.6;
};

// CUDA kernels with Triton rewrites, among the units of one origin; best first, each unit in one pair at
// most.
std::vector<Match> match_cuda(const std::vector<corpus::Unit>& units, const MatchOptions& options);
// PyTorch references with Triton rewrites.
std::vector<Match> match_torch(const std::vector<corpus::Unit>& units, const MatchOptions& options);

// Prompt: a sentence and the fenced source; completion: the triton unit with its context and its launcher,
// code alone.
corpus::Row pair_row(const corpus::Unit& from, const corpus::Unit& to, const Match& match);

}  // namespace kw::pairs
