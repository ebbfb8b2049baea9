// How much an answer resembles its reference, token by token. Likeness is no correctness.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kw::score {

// Counts of which BLEU is made, of one pair of texts or added up over many.
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
// p_n = (matched + 1) / (total + 1). 0 where no token matches; nothing where the reference has no token.
std::optional<double> bleu(const NgramCounts& counts);

// Tokens are those of near/renamed.h: code without comments, docstrings and white space, operators of one
// byte each. (Other tools tokenise otherwise: only figures of this one compare.)
struct Overlap {
  bool exact = false;          // byte by byte, but for white space at the ends
  bool exact_tokens = false;   // comments, docstrings and layout aside; of Python the indentation must agree
  bool exact_renamed = false;  // and names that the author chose renamed in order
  std::optional<double> bleu;  // 0 of an answer without tokens, or too long to be taken apart
  std::string_view why_no_bleu;  // "reference_too_long", "reference_without_tokens"; empty: there is one
  NgramCounts counts;
};

Overlap overlap(std::string_view reference, std::string_view answer);

// Of the counts added up, as Papineni et al. define it for a set. Nothing where no pair has one.
std::optional<double> corpus_bleu(const std::vector<Overlap>& overlaps);

}  // namespace kw::score
