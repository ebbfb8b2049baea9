#include "dataset/leakage/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "dataset/leakage/leak.h"

namespace kw::leak {
namespace {

constexpr std::array<bool, 256> word_bytes = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < table.size(); ++c)
    table[c] =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c > 127;
  return table;
}();

bool is_word(char c) {
  return word_bytes[static_cast<unsigned char>(c)];
}

void make_set(WordSet& words) {
  std::ranges::sort(words);
  words.erase(std::ranges::unique(words).begin(), words.end());
}

}  // namespace

std::size_t end_of_word(std::string_view text, std::size_t at) {
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}

std::optional<WordSet> word_set(std::string_view text, std::size_t most) {
  WordSet words;
  std::size_t room = std::max<std::size_t>(1024, most < text.size() ? 2 * most : text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t begin = at;
    at = end_of_word(text, begin);
    if (at == begin) {
      ++at;
      continue;
    }
    words.push_back(hash_bytes(text.substr(begin, at - begin)));
    if (words.size() <= room) continue;
    // Removes repetitions. The next limit is at most twice the set, so that sorting stays cheap.
    make_set(words);
    if (words.size() > most) return std::nullopt;
    room = std::max(room, 2 * words.size());
  }
  make_set(words);
  if (words.size() > most) return std::nullopt;
  return words;
}

std::size_t common(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  std::size_t count = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) ++count;
    bool step_a = a[i] <= b[j];
    bool step_b = b[j] <= a[i];
    i += step_a ? 1 : 0;
    j += step_b ? 1 : 0;
  }
  return count;
}

double word_jaccard(std::string_view a, std::string_view b) {
  auto words_a = word_set(a, a.size());
  auto words_b = word_set(b, b.size());
  if (!words_a || !words_b || words_a->empty() || words_b->empty()) return 0;
  std::size_t both = common(*words_a, *words_b);
  return static_cast<double>(both) / static_cast<double>(words_a->size() + words_b->size() - both);
}

namespace {

// The minimum of the weighted Jaccard index. Words in fewer references have larger weights.
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

// A reference at threshold t shares at least t n of the text's n words, so it contains at least one of the
// n - t n + 1 rarest.
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
