// Sets of words as hashes, and the references with nearly the same words as a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kw::leak {

// A bijection whose every output bit depends on every input bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = 0x9e3779b97f4a7c15U ^ bytes.size();
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = mix(hash ^ word);
    bytes.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes.data(), bytes.size());
  return mix(hash ^ rest);
}

using WordSet = std::vector<std::uint64_t>;  // sorted, each once

// Words are runs of ASCII letters, digits and '_', and of bytes over 127: \w+ except for non-ASCII
// punctuation. Empty if the text has more than `most` different words, to limit memory.
std::optional<WordSet> word_set(std::string_view text, std::size_t most);

// The end of the word that begins there; `at` if no word begins there.
std::size_t end_of_word(std::string_view text, std::size_t at);

std::size_t common(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

// Finds references with nearly the same words as a text.
class WordTable {
 public:
  struct Resemblance {
    std::uint32_t reference = 0;
    double jaccard = 0;
  };

  WordTable(std::vector<WordSet> references, double threshold);

  // The text's words; empty if there are too many for any reference to resemble it.
  std::optional<WordSet> read(std::string_view text) const { return word_set(text, most_words_); }

  // The references at or over the threshold. Problems of one benchmark share most of their words, and so do
  // texts that were not copied from it; therefore the rare words must also match.
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
