#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "leak/leak.h"
#include "leak/match.h"
#include "leak/notices.h"
#include "leak/symbols.h"
#include "leak/window_table.h"
#include "leak/word_table.h"

namespace kw::leak {
namespace {

// A longer text is looked at in chunks; a reference lies whole in one of them, or its pieces do.
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr std::size_t overlap_bytes = std::size_t{1} << 16;

// A reference with fewer telling windows is found by its words, or as a partial copy.
constexpr std::uint32_t least_contained = 6;

// A partial copy is a tenth of its reference, or a run so many times the least: a long kernel has a few lines
// that everyone writes, and rarer ones than a small benchmark can tell.
constexpr double least_part = 0.1;
constexpr std::size_t long_run = 4;

using Read = std::vector<Symbol> (*)(std::string_view text);

std::vector<ReferenceWindows> windows_of(const std::vector<Reference>& references, Read read,
                                         std::size_t width) {
  std::map<std::string, std::uint32_t> benchmarks;
  std::vector<ReferenceWindows> all;
  for (const Reference& reference : references) {
    auto number = static_cast<std::uint32_t>(benchmarks.size());
    all.push_back({read_windows(read(reference.text), width),
                   benchmarks.try_emplace(reference.against, number).first->second});
  }
  return all;
}

std::vector<WordSet> words_of(const std::vector<Reference>& references) {
  std::vector<WordSet> all;
  for (const Reference& reference : references)
    all.push_back(*word_set(reference.text, reference.text.size()));
  return all;
}

// Where the next chunk begins: after a line's end, if there is one near.
std::size_t next_chunk(std::string_view text, std::size_t begin) {
  std::size_t next = begin + chunk_bytes - overlap_bytes;
  std::size_t line = text.substr(next, overlap_bytes / 2).find('\n');
  return line == std::string_view::npos ? next : next + line + 1;
}

// One way of reading texts: the references' windows, and how much of one makes a copy.
class Reading {
 public:
  Reading(const std::vector<Reference>& references, Read read, const Thresholds& thresholds)
      : read_(read),
        thresholds_(thresholds),
        table_(windows_of(references, read, thresholds.window_tokens),
               read_windows(read(licence_notices()), thresholds.window_tokens)) {}

  std::vector<Match> matches(std::string_view text) const {
    std::size_t least_hits = std::min<std::size_t>(least_contained, thresholds_.least_windows);
    return find_matches(table_, read_(text), thresholds_.window_tokens, least_hits);
  }

  double contained(std::uint32_t reference, const Extent& extent) const {
    std::uint32_t telling = table_.telling(reference);
    return telling == 0 ? 0 : static_cast<double>(extent.windows) / static_cast<double>(telling);
  }

  bool is_copy(std::uint32_t reference, const Extent& extent) const {
    double part = least_part * static_cast<double>(table_.telling(reference));
    if (extent.run >= thresholds_.least_windows &&
        (extent.run >= part || extent.run >= long_run * thresholds_.least_windows))
      return true;
    return extent.windows >= least_contained && contained(reference, extent) >= thresholds_.containment;
  }

 private:
  Read read_;
  Thresholds thresholds_;
  WindowTable table_;
};

// What a text has of one reference.
struct Resemblance {
  Match code;
  Match words;
  double jaccard = 0;
  bool same_words = false;
};

}  // namespace

struct Index::State {
  State(std::vector<Reference> all, const Thresholds& thresholds)
      : references(std::move(all)),
        code(references, read_symbols, thresholds),
        words(references, read_words, thresholds),
        sets(words_of(references), thresholds.jaccard) {
    // The texts are in the tables now.
    for (Reference& reference : references) std::string().swap(reference.text);
  }

  using Found = std::map<std::uint32_t, Resemblance>;
  void match(const Reading& reading, Match Resemblance::* part, std::string_view text, std::size_t begin,
             Found& found) const;
  Found resemblances(std::string_view text) const;
  bool is_leak(std::uint32_t reference, const Resemblance& like) const;
  corpus::Leak leak(std::uint32_t reference, const Resemblance& like, std::size_t text_bytes) const;

  std::vector<Reference> references;
  Reading code;   // own names renamed, no comments: what another name or formatting does not hide
  Reading words;  // comments and prose too, as they are written
  WordTable sets;
};

void Index::State::match(const Reading& reading, Match Resemblance::* part, std::string_view text,
                         std::size_t begin, Found& found) const {
  for (Match& match : reading.matches(text.substr(begin, chunk_bytes))) {
    for (corpus::Span& span : match.spans) span = {span.begin + begin, span.end + begin};
    merge(found[match.reference].*part, match);
  }
}

Index::State::Found Index::State::resemblances(std::string_view text) const {
  Found found;
  for (std::size_t begin = 0; begin < text.size();) {
    match(code, &Resemblance::code, text, begin, found);
    match(words, &Resemblance::words, text, begin, found);
    begin = begin + chunk_bytes >= text.size() ? text.size() : next_chunk(text, begin);
  }
  std::optional<WordSet> set = sets.read(text);
  if (!set) return found;
  for (const auto& [reference, jaccard] : sets.find(*set)) found[reference].same_words = true;
  for (auto& [reference, like] : found)
    if (is_leak(reference, like)) like.jaccard = sets.jaccard(*set, reference);
  return found;
}

bool Index::State::is_leak(std::uint32_t reference, const Resemblance& like) const {
  return like.same_words || code.is_copy(reference, like.code.renamed) ||
         words.is_copy(reference, like.words.written);
}

corpus::Leak Index::State::leak(std::uint32_t reference, const Resemblance& like,
                                std::size_t text_bytes) const {
  corpus::Leak leak;
  leak.against = references[reference].against;
  leak.row = references[reference].row;
  leak.jaccard = like.jaccard;
  leak.containment =
      std::max(code.contained(reference, like.code.renamed), words.contained(reference, like.words.written));
  leak.renamed = !like.same_words && code.is_copy(reference, like.code.renamed) &&
                 !code.is_copy(reference, like.code.written);
  Match both = like.code;
  merge(both, like.words);
  leak.spans = std::move(both.spans);
  if (leak.spans.empty()) leak.spans.push_back({0, text_bytes});
  return leak;
}

Index::Index(std::vector<Reference> references, const Thresholds& thresholds)
    : state_(std::make_unique<State>(std::move(references), thresholds)) {}

Index::~Index() = default;

std::size_t Index::size() const {
  return state_->references.size();
}

std::vector<corpus::Leak> Index::check(std::string_view text, const std::string& field) const {
  std::vector<corpus::Leak> leaks;
  for (const auto& [reference, like] : state_->resemblances(text)) {
    if (!state_->is_leak(reference, like)) continue;
    leaks.push_back(state_->leak(reference, like, text.size()));
    leaks.back().field = field;
  }
  // The references' order decides between equals.
  std::vector<std::size_t> order(leaks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    auto strength = [&](std::size_t i) {
      return std::tuple(-std::max(leaks[i].jaccard, leaks[i].containment), -leaks[i].containment, i);
    };
    return strength(a) < strength(b);
  });
  std::vector<corpus::Leak> sorted;
  for (std::size_t i : order) sorted.push_back(std::move(leaks[i]));
  return sorted;
}

}  // namespace kw::leak
