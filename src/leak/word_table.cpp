#include "leak/word_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace kw::leak {
namespace {

// Of the Jaccard index in which a word weighs the more, the fewer references have it.
constexpr double least_weighted = 0.7;

}  // namespace

WordTable::WordTable(std::vector<WordSet> references, double threshold)
    : references_(std::move(references)), threshold_(std::clamp(threshold, 0.01, 1.0)) {
  std::size_t longest = 0;
  for (std::size_t r = 0; r < references_.size(); ++r) {
    longest = std::max(longest, references_[r].size());
    for (std::uint64_t word : references_[r])
      words_[word].references.push_back(static_cast<std::uint32_t>(r));
  }
  most_words_ = static_cast<std::size_t>(static_cast<double>(longest) / threshold_);
  for (const WordSet& words : references_) weights_.push_back(weight(words));
}

double WordTable::weight(std::uint64_t word) const {
  auto found = words_.find(word);
  std::size_t sharing = found == words_.end() ? 1 : found->second.references.size();
  return std::log1p(static_cast<double>(references_.size()) / static_cast<double>(sharing));
}

double WordTable::weight(std::span<const std::uint64_t> words) const {
  double sum = 0;
  for (std::uint64_t word : words) sum += weight(word);
  return sum;
}

// What resembles a text of n words shares t n of them, so it has one of any n - t n + 1: of the rarest.
std::vector<std::uint32_t> WordTable::candidates(const WordSet& words) const {
  auto shared = static_cast<std::size_t>(std::ceil(threshold_ * static_cast<double>(words.size()) - 1e-9));
  std::size_t others = words.size() - std::min(words.size(), shared);
  std::size_t unknown = 0;
  std::vector<const Word*> known;
  for (std::uint64_t word : words) {
    auto found = words_.find(word);
    if (found != words_.end())
      known.push_back(&found->second);
    else if (++unknown > others)
      return {};
  }
  std::ranges::sort(known, {}, [](const Word* word) { return word->references.size(); });
  known.resize(std::min(known.size(), others + 1 - unknown));
  std::vector<std::uint32_t> found;
  for (const Word* word : known) found.insert(found.end(), word->references.begin(), word->references.end());
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

double WordTable::jaccard(const WordSet& words, std::uint32_t reference) const {
  const WordSet& other = references_[reference];
  if (words.empty() || other.empty()) return 0;
  std::size_t both = common(words, other);
  return static_cast<double>(both) / static_cast<double>(words.size() + other.size() - both);
}

bool WordTable::rare_words_agree(const WordSet& words, std::uint32_t reference) const {
  WordSet shared;
  std::ranges::set_intersection(words, references_[reference], std::back_inserter(shared));
  double both = weight(shared);
  return both >= least_weighted * (weight(words) + weights_[reference] - both);
}

std::vector<WordTable::Resemblance> WordTable::find(const WordSet& words) const {
  std::vector<Resemblance> found;
  for (std::uint32_t reference : candidates(words)) {
    auto larger = static_cast<double>(std::max(words.size(), references_[reference].size()));
    auto smaller = static_cast<double>(std::min(words.size(), references_[reference].size()));
    if (smaller < threshold_ * larger - 1e-9) continue;
    double index = jaccard(words, reference);
    if (index >= threshold_ && rare_words_agree(words, reference)) found.push_back({reference, index});
  }
  return found;
}

}  // namespace kw::leak
