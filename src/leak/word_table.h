// References whose words are nearly those of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "leak/words.h"

namespace kw::leak {

class WordTable {
 public:
  struct Resemblance {
    std::uint32_t reference = 0;
    double jaccard = 0;
  };

  WordTable(std::vector<WordSet> references, double threshold);

  // The text's words; nothing where they are too many for any reference to resemble it.
  std::optional<WordSet> read(std::string_view text) const { return word_set(text, most_words_); }

  // The references at or over the threshold. Problems of one benchmark share most of their words, and so does
  // what was never copied from it: the rare words must agree too.
  std::vector<Resemblance> find(const WordSet& words) const;

  double jaccard(const WordSet& words, std::uint32_t reference) const;

 private:
  struct Word {
    std::vector<std::uint32_t> references;
  };
  double weight(std::uint64_t word) const;
  double weight(std::span<const std::uint64_t> words) const;
  std::vector<std::uint32_t> candidates(const WordSet& words) const;
  bool rare_words_agree(const WordSet& words, std::uint32_t reference) const;

  std::vector<WordSet> references_;
  double threshold_;
  std::size_t most_words_ = 0;
  std::vector<double> weights_;  // of each reference's words together
  std::unordered_map<std::uint64_t, Word> words_;
};

}  // namespace kw::leak
