// Token overlap of an answer with its reference. Overlap is no measure of correctness.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kw::score {

// Counts for BLEU, of one pair of texts or summed over several.
struct NgramCounts {
  std::array<std::uint64_t, 4>
      matched{};  // n-grams of the answer that the reference has, each at most as often
  std::array<std::uint64_t, 4> total{};  // n-grams of the answer
  std::uint64_t answer_tokens = 0;
  std::uint64_t reference_tokens = 0;

  NgramCounts& operator+=(const NgramCounts& other);
};

// Papineni et al. 2002, "BLEU", ACL: brevity · exp(Σ ln p_n / 4) for n from 1 to 4 with brevity
// min(1, exp(1 - reference / answer)). Smoothed as Lin and Och 2004, "ORANGE", COLING: for n > 1,
// p_n = (matched + 1) / (total + 1). 0 if no token matches; empty if the reference has no token.
std::optional<double> bleu(const NgramCounts& counts);

// Tokens are those of code/similarity/code_tokens.h: code without comments, docstrings and white space,
// operators of one byte each. (Other tools use other tokens: do not compare their values with these.)
struct Overlap {
  bool exact = false;          // byte by byte, except for white space at the ends
  bool exact_tokens = false;   // comments, docstrings and layout aside; of Python the indentation must agree
  bool exact_renamed = false;  // as exact_tokens, with names that the author chose renamed in order
  std::optional<double> bleu;  // 0 for an answer without tokens, or too long to be split
  std::string_view why_no_bleu;  // "reference_too_long", "reference_without_tokens"; empty: there is one
  NgramCounts counts;
};

Overlap overlap(std::string_view reference, std::string_view answer);

// From the summed counts, as Papineni et al. define it for a set. Empty if no pair has a value.
std::optional<double> corpus_bleu(const std::vector<Overlap>& overlaps);

}  // namespace kw::score
