#include "leak/words.h"

#include <algorithm>
#include <array>

#include "leak/leak.h"
#include "leak/mix.h"

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
    // Repetitions go first; the set doubles at most, so that sorting stays cheap.
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

}  // namespace kw::leak
