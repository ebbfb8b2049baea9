// Converts units to rows, and reads hand-made pairs of a CUDA kernel and its Triton rewrite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"
#include "dataset/units/row.h"
#include "dataset/units/unit.h"

namespace kw::pairs {

// Converts units to rows.
BOOST_DEFINE_ENUM_CLASS(Rendering, mixed, psm, spm, both)

// How the row of a kernel's body is written: signature and then the body; a hole with the special tokens; the
// first two; a request to write the kernel.
BOOST_DEFINE_ENUM_CLASS(Body, plain, fim, both, instruction)

struct FimOptions {
  Rendering rendering = Rendering::psm;  // mixed: one of the two per hole, by the hole's hash
  Body body = Body::plain;
  unsigned blocks = 1;  // maximum number of holes of this kind per unit
  unsigned expressions = 1;
  unsigned calls = 1;
  std::size_t shortest_completion = 32;  // bytes, without white space at its ends
  std::size_t max_tokens = 1'024;        // of a row; the estimate keeps a margin below it
  std::uint64_t seed = 0;
};

// How many kernels of a build have a hole with this text, by hole_key().
using Occurrences = std::unordered_map<std::uint64_t, std::uint32_t>;

// Equal for texts that differ in white space only.
std::uint64_t hole_key(std::string_view completion);

// The keys of all holes that a unit's rows may be cut from, each once.
std::vector<std::uint64_t> hole_keys(const corpus::Unit& unit, const FimOptions& options);

// The rows of one unit, and what is left out: by reason, how many.
struct FimRows {
  std::vector<corpus::Row> rows;
  std::map<std::string, std::uint64_t> left_out;
};

// The rows of a Triton or CUDA unit: its body, then holes from the syntax tree; of these the rarest first, by
// the counts. Every row is put together and parsed; one that does not parse is left out. Equal unit, options
// and counts give equal rows.
FimRows fim_rows(const corpus::Unit& unit, const FimOptions& options, const Occurrences& occurrences = {});

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

// Prompt: a sentence and the fenced source. Completion: the Triton unit with its launcher and all that the
// two need, without a fence. The reason where one of the two is not self-contained: Python has names that
// nothing defines, or code that does not parse.
std::expected<corpus::Row, std::string> pair_row(const corpus::Unit& from, const corpus::Unit& to,
                                                 const Match& match);

// Whether a pair's completion is valid Python.
bool parses(const corpus::Row& pair);

// The texts of a pair's row.
std::string cuda_prompt(std::string_view code);
std::string torch_prompt(std::string_view code);

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
// triton_licence, id, name and verdict; whole files, in the order of `number`. A line with cuda_code is a
// CUDA → Triton row instead. Confidence 1, or 0.9 where no GPU has run the CUDA side; the reasons say so. A
// line whose verdict is not right and counting is an error: it is no pair.
Result<std::vector<corpus::Row>> judged_pairs(const std::filesystem::path& file);

}  // namespace kw::pairs
