// Converts units to rows, and reads hand-made pairs of a CUDA kernel and its Triton rewrite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"
#include "dataset/units/row.h"
#include "dataset/units/unit.h"

namespace kw::pairs {

// Converts units to rows.
BOOST_DEFINE_ENUM_CLASS(Rendering, mixed, psm, spm, both)

struct FimOptions {
  Rendering rendering = Rendering::mixed;  // mixed: one of the two per hole, by the hole's hash
  unsigned blocks = 1;                     // maximum number of holes of this kind per unit
  unsigned expressions = 1;
  unsigned calls = 1;
  std::size_t least_middle_bytes = 8;
  std::size_t longest_row_bytes = 65'536;  // prompt and completion together
  std::uint64_t seed = 0;
};

// Counts of made and omitted rows; accumulates over units.
struct FimTally {
  std::uint64_t rows = 0;
  std::uint64_t special_tokens = 0;  // omitted: the text contains <|...|>
  std::uint64_t too_long = 0;        // omitted: over longest_row_bytes
  std::uint64_t no_code = 0;         // omitted bodies: too short, or docstring and comments only
  std::uint64_t torn = 0;            // units whose region does not contain their text: no holes
};

// The rows of a Triton or CUDA unit: signature and context → body, then holes from the syntax tree. In each,
// prefix + middle + suffix is compared with the region's bytes; a mismatch is a bug and ends the program.
// Equal unit, options and seed give equal rows.
std::vector<corpus::Row> fim_rows(const corpus::Unit& unit, const FimOptions& options,
                                  FimTally* tally = nullptr);

// The parts of a prompt that fim_rows() writes with the special tokens; views of the prompt.
struct FimPrompt {
  std::string_view prefix;
  std::string_view suffix;
  bool prefix_first = true;  // "psm"; false: "spm"
};

// Empty if the text is no such prompt.
std::optional<FimPrompt> parse_fim_prompt(std::string_view prompt);

// The matcher's data of one unit, kept in memory for a complete corpus.
struct Match {
  std::size_t from = 0;  // index of the CUDA or PyTorch unit
  std::size_t to = 0;    // index of the triton unit
  corpus::PairEvidence evidence;
};

struct MatchOptions {
  double least_confidence = 0.6;
};

// CUDA kernels with Triton rewrites among the units of one origin; the best first, each unit in at most one
// pair.
std::vector<Match> match_cuda(const std::vector<corpus::Unit>& units, const MatchOptions& options);
// PyTorch references with Triton rewrites.
std::vector<Match> match_torch(const std::vector<corpus::Unit>& units, const MatchOptions& options);

// Prompt: a sentence and the fenced source. Completion: the Triton unit with its context and its launcher,
// without a fence.
corpus::Row pair_row(const corpus::Unit& from, const corpus::Unit& to, const Match& match);

// The texts of a pair's row.
std::string cuda_prompt(std::string_view code);
std::string torch_prompt(std::string_view code);

// The kernel with its context and the function that launches it, so that it can be called. If the launcher
// is a method or top-level code, context and kernel only. Adds `import torch`, `triton` or `math` in front
// if the launcher needs it and the context lacks it; does not search for other functions that the launcher
// calls.
std::string with_launcher(const corpus::Unit& unit);

// The rows of a folder with NAME.cu beside NAME.py, or NAME_cuda.cu beside NAME_triton.py, by name; whole
// files, with the prompts of pair_row(), and confidence 1. Licence and source come from NAME.json
// ({"licence": SPDX, "source": address; "triton_licence" where the two differ}), else from the line for NAME
// in pairs.csv (columns name, licence and, if there is one, source), else the licence from each file's SPDX
// tag, else it is unknown: empty. An error for a folder without a pair, a .cu without its .py, a file over 4
// MiB or not UTF-8, and for JSON or CSV that cannot be read.
Result<std::vector<corpus::Row>> hand_made_pairs(const std::string& folder);

// The file of judged pairs in a folder that `dataset synth` wrote; empty for any other folder.
std::filesystem::path judged_pairs_file(const std::string& folder);

// The PyTorch → Triton rows of a file of JSON lines with reference_code, kernel_code, licence,
// triton_licence, id, name and verdict; whole files, in the order of `number`. Confidence 1, and the verdict
// says why. A line whose verdict is not right and counting is an error: it is no pair.
Result<std::vector<corpus::Row>> judged_pairs(const std::filesystem::path& file);

}  // namespace kw::pairs
