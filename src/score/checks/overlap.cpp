#include "score/checks/overlap.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>

#include "base/core/text.h"
#include "code/similarity/code_tokens.h"

namespace kw::score {
namespace {

// Usual answers have kilobytes; longer texts are only compared byte by byte.
constexpr std::size_t longest_compared = std::size_t{1} << 20;

std::vector<std::string_view> words_of(std::string_view text, const std::vector<near::Token>& tokens) {
  std::vector<std::string_view> words;
  words.reserve(tokens.size());
  for (const near::Token& token : tokens) words.push_back(text.substr(token.begin, token.end - token.begin));
  return words;
}

// The words as in the token sequence, with quotes of one kind.
std::vector<std::string> plain(const std::vector<std::string_view>& words, near::Language language) {
  std::vector<std::string> texts;
  texts.reserve(words.size());
  for (std::string_view word : words)
    texts.push_back(language == near::Language::python && near::is_string(word) ? near::plain_string(word)
                                                                                : std::string(word));
  return texts;
}

std::size_t width_before(std::string_view line) {
  std::size_t width = 0;
  for (char c : line) {
    if (c == '\t')
      width = (width / 8 + 1) * 8;
    else if (c == ' ')
      ++width;
    else
      break;
  }
  return width;
}

// The indentation level of each Python statement, independent of its width; code_tokens omits it.
class Depths {
 public:
  std::vector<std::pair<std::size_t, std::size_t>> of(std::string_view text,
                                                      const std::vector<near::Token>& tokens) {
    std::vector<std::pair<std::size_t, std::size_t>> depths;  // token, depth
    std::size_t searched = 0;
    std::size_t line = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string_view between = text.substr(searched, tokens[i].begin - searched);
      std::size_t newline = between.rfind('\n');
      bool is_first = i == 0 || newline != std::string_view::npos;
      if (newline != std::string_view::npos) line = searched + newline + 1;
      if (is_first && brackets_ == 0) depths.emplace_back(i, depth_at(width_before(text.substr(line))));
      std::string_view word = text.substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
      if (word == "(" || word == "[" || word == "{") ++brackets_;
      if ((word == ")" || word == "]" || word == "}") && brackets_ > 0) --brackets_;
      searched = tokens[i].end;
    }
    return depths;
  }

 private:
  std::size_t depth_at(std::size_t width) {
    while (!open_.empty() && open_.back() > width) open_.pop_back();
    if (open_.empty() || open_.back() < width) open_.push_back(width);
    return open_.size() - 1;
  }

  std::vector<std::size_t> open_;
  std::size_t brackets_ = 0;
};

// Whether the statements have equal levels, relative to the begin of each text.
bool same_depths(std::string_view reference, const std::vector<near::Token>& reference_tokens,
                 std::string_view answer, const std::vector<near::Token>& answer_tokens) {
  if (near::language_of(reference) != near::Language::python) return true;
  return Depths().of(reference, reference_tokens) == Depths().of(answer, answer_tokens);
}

using Ngram = std::array<std::uint32_t, 4>;  // numbers of words from 1; 0 after the end of a shorter one

std::map<Ngram, std::uint64_t> ngrams(const std::vector<std::uint32_t>& words, std::size_t n) {
  std::map<Ngram, std::uint64_t> found;
  for (std::size_t i = 0; i + n <= words.size(); ++i) {
    Ngram ngram{};
    for (std::size_t j = 0; j < n; ++j) ngram[j] = words[i + j];
    ++found[ngram];
  }
  return found;
}

NgramCounts count_ngrams(const std::vector<std::string>& reference, const std::vector<std::string>& answer) {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  auto numbered = [&numbers](const std::vector<std::string>& words) {
    std::vector<std::uint32_t> list;
    list.reserve(words.size());
    for (const std::string& word : words)
      list.push_back(numbers.try_emplace(word, static_cast<std::uint32_t>(numbers.size() + 1)).first->second);
    return list;
  };
  std::vector<std::uint32_t> wanted = numbered(reference);
  std::vector<std::uint32_t> given = numbered(answer);
  NgramCounts counts;
  counts.reference_tokens = wanted.size();
  counts.answer_tokens = given.size();
  for (std::size_t n = 1; n <= 4; ++n) {
    auto there = ngrams(wanted, n);
    for (const auto& [ngram, times] : ngrams(given, n)) {
      counts.total[n - 1] += times;
      if (auto found = there.find(ngram); found != there.end())
        counts.matched[n - 1] += std::min(times, found->second);
    }
  }
  return counts;
}

}  // namespace

NgramCounts& NgramCounts::operator+=(const NgramCounts& other) {
  for (std::size_t n = 0; n < 4; ++n) {
    matched[n] += other.matched[n];
    total[n] += other.total[n];
  }
  answer_tokens += other.answer_tokens;
  reference_tokens += other.reference_tokens;
  return *this;
}

std::optional<double> bleu(const NgramCounts& counts) {
  if (counts.reference_tokens == 0) return {};
  if (counts.matched[0] == 0) return 0;
  double logarithms = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    double added = n == 0 ? 0 : 1;
    logarithms += std::log((static_cast<double>(counts.matched[n]) + added) /
                           (static_cast<double>(counts.total[n]) + added));
  }
  double lengths = static_cast<double>(counts.reference_tokens) / static_cast<double>(counts.answer_tokens);
  return std::min(1.0, std::exp(1 - lengths)) * std::exp(logarithms / 4);
}

Overlap overlap(std::string_view reference, std::string_view answer) {
  Overlap result;
  result.exact = trim(reference) == trim(answer);
  result.exact_tokens = result.exact_renamed = result.exact;
  if (reference.size() > longest_compared) {
    result.why_no_bleu = "reference_too_long";
    return result;
  }
  auto reference_tokens = near::code_tokens(reference);
  if (reference_tokens.empty()) result.why_no_bleu = "reference_without_tokens";
  // Counts an over-long answer as one without any match, since its length is the answer's fault.
  if (answer.size() > longest_compared) {
    result.counts.reference_tokens = reference_tokens.size();
    result.bleu = bleu(result.counts);
    return result;
  }
  auto answer_tokens = near::code_tokens(answer);
  auto language = near::language_of(reference);
  auto wanted = plain(words_of(reference, reference_tokens), language);
  auto given = plain(words_of(answer, answer_tokens), language);
  result.counts = count_ngrams(wanted, given);
  result.bleu = bleu(result.counts);
  bool alike = same_depths(reference, reference_tokens, answer, answer_tokens);
  result.exact_tokens = result.exact || (alike && wanted == given);
  result.exact_renamed = result.exact_tokens || (alike && wanted.size() == given.size() &&
                                                 near::renamed_sha1(reference) == near::renamed_sha1(answer));
  return result;
}

std::optional<double> corpus_bleu(const std::vector<Overlap>& overlaps) {
  NgramCounts counts;
  for (const Overlap& one : overlaps)
    if (one.bleu) counts += one.counts;
  return bleu(counts);
}

}  // namespace kw::score
