#include "dataset/leakage/window_table.h"

#include <algorithm>
#include <bit>
#include <compare>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "dataset/leakage/words.h"

namespace kw::leak {
namespace {

// Stored positions of one window in one reference; further ones are repetitions.
constexpr std::size_t most_positions = 8;

struct Entry {
  std::uint64_t key = 0;
  std::uint32_t reference = 0;
  std::uint32_t position = 0;
};

std::vector<Entry> sorted_entries(const std::vector<ReferenceWindows>& references) {
  std::vector<Entry> entries;
  std::size_t count = 0;
  for (const ReferenceWindows& reference : references) count += reference.windows.size();
  entries.reserve(count);
  for (std::size_t r = 0; r < references.size(); ++r)
    for (std::size_t p = 0; p < references[r].windows.size(); ++p)
      entries.push_back(
          {references[r].windows[p].key, static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(p)});
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.key, a.reference, a.position) < std::tie(b.key, b.reference, b.position);
  });
  return entries;
}

// Decides which windows of each benchmark are rare enough for the table.
class Census {
 public:
  explicit Census(const std::vector<ReferenceWindows>& references) {
    std::unordered_map<std::uint64_t, std::uint32_t> known;
    std::map<std::uint32_t, std::set<std::uint32_t>> benchmarks;
    for (const ReferenceWindows& reference : references) {
      // References with equal windows count as one text.
      std::uint64_t hash = reference.benchmark;
      for (const Window& window : reference.windows) hash = mix(hash ^ window.key);
      auto number = static_cast<std::uint32_t>(known.size());
      texts_.push_back({reference.benchmark, known.try_emplace(hash, number).first->second});
      benchmarks[reference.benchmark].insert(texts_.back().number);
    }
    for (const auto& [benchmark, texts] : benchmarks) most_[benchmark] = most_sharing(texts.size());
  }

  // The benchmarks in which few enough texts contain the window. `entries` are all entries of one window.
  std::vector<std::uint32_t> telling(std::span<const Entry> entries) const {
    std::vector<Text> sharing;
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (i == 0 || entries[i].reference != entries[i - 1].reference)
        sharing.push_back(texts_[entries[i].reference]);
    std::ranges::sort(sharing);
    sharing.erase(std::ranges::unique(sharing).begin(), sharing.end());
    std::vector<std::uint32_t> found;
    for (std::size_t begin = 0, end = 0; begin < sharing.size(); begin = end) {
      while (end < sharing.size() && sharing[end].benchmark == sharing[begin].benchmark) ++end;
      if (end - begin <= most_.at(sharing[begin].benchmark)) found.push_back(sharing[begin].benchmark);
    }
    return found;
  }

  std::uint32_t benchmark(std::uint32_t reference) const { return texts_[reference].benchmark; }

 private:
  struct Text {
    std::uint32_t benchmark = 0;
    std::uint32_t number = 0;
    auto operator<=>(const Text&) const = default;
  };
  std::vector<Text> texts_;  // by reference
  std::map<std::uint32_t, std::size_t> most_;
};

}  // namespace

std::size_t most_sharing(std::size_t texts) {
  return std::clamp<std::size_t>(2 * texts / 25, 3, 32);
}

WindowTable::WindowTable(const std::vector<ReferenceWindows>& references, std::span<const Window> silent) {
  Census census(references);
  std::unordered_set<std::uint64_t> silenced;
  for (const Window& window : silent) silenced.insert(window.key);
  std::vector<Entry> entries = sorted_entries(references);
  std::vector<Slot> groups;
  for (std::size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    while (end < entries.size() && entries[end].key == entries[begin].key) ++end;
    std::span<const Entry> group(entries.data() + begin, end - begin);
    if (silenced.contains(group[0].key)) continue;
    std::vector<std::uint32_t> telling = census.telling(group);
    auto first = static_cast<std::uint32_t>(postings_.size());
    for (const Entry& entry : group) {
      if (!std::ranges::binary_search(telling, census.benchmark(entry.reference))) continue;
      auto before = std::span(postings_).subspan(first);
      bool repeats = before.size() >= most_positions &&
                     before[before.size() - most_positions].reference == entry.reference;
      if (!repeats) postings_.push_back({entry.reference, entry.position});
    }
    auto count = static_cast<std::uint32_t>(postings_.size()) - first;
    if (count > 0) groups.push_back({group[0].key, first, count});
  }
  fill_slots(groups);
  number_windows(references);
}

void WindowTable::fill_slots(const std::vector<Slot>& groups) {
  slots_.resize(std::bit_ceil(2 * groups.size() + 1));
  for (const Slot& group : groups) {
    std::size_t at = group.key & (slots_.size() - 1);
    while (slots_[at].count != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = group;
  }
}

void WindowTable::number_windows(const std::vector<ReferenceWindows>& references) {
  for (const ReferenceWindows& reference : references) {
    starts_.push_back(written_.size());
    for (const Window& window : reference.windows) written_.push_back(window.written);
  }
  ranks_.resize(written_.size());
  for (const Posting& at : postings_) ranks_[starts_[at.reference] + at.position] = 1;
  for (std::size_t r = 0; r < references.size(); ++r) {
    std::uint32_t count = 0;
    for (std::size_t p = 0; p < references[r].windows.size(); ++p)
      count += std::exchange(ranks_[starts_[r] + p], count);
    telling_.push_back(count);
  }
}

std::span<const WindowTable::Posting> WindowTable::find(std::uint64_t key) const {
  for (std::size_t at = key & (slots_.size() - 1); slots_[at].count != 0; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].key == key) return std::span(postings_).subspan(slots_[at].first, slots_[at].count);
  return {};
}

namespace {

constexpr std::size_t most_hits = 1'000'000;
constexpr std::uint32_t most_repetitions = 256;  // of one window in the text
constexpr std::uint32_t longest_gap = 32;        // common windows inside a run
constexpr std::size_t most_spans = 64;
constexpr std::size_t least_telling = 4;  // different foreign names, numbers and strings in renamed windows

// A window of the text that occurs in a reference.
struct Hit {
  std::uint32_t reference = 0;
  std::uint32_t position = 0;  // in the reference
  std::uint32_t at = 0;        // in the text
  bool as_written = false;

  std::int64_t offset() const { return std::int64_t{at} - std::int64_t{position}; }
};

std::vector<Hit> find_hits(const WindowTable& table, std::span<const Window> windows) {
  std::vector<Hit> hits;
  std::unordered_map<std::uint64_t, std::uint32_t> repetitions;
  for (std::size_t at = 0; at < windows.size() && hits.size() < most_hits; ++at) {
    auto postings = table.find(windows[at].key);
    if (postings.empty() || ++repetitions[windows[at].key] > most_repetitions) continue;
    for (const auto& posting : postings)
      hits.push_back({posting.reference, posting.position, static_cast<std::uint32_t>(at),
                      table.written(posting) == windows[at].written});
  }
  // A run consists of consecutive hits with the same reference and the same offset between the two texts.
  std::ranges::sort(hits, [](const Hit& a, const Hit& b) {
    return std::tuple(a.reference, a.offset(), a.at) < std::tuple(b.reference, b.offset(), b.at);
  });
  return hits;
}

bool follows(const WindowTable& table, const Hit& before, const Hit& now) {
  return before.offset() == now.offset() && now.position - before.position <= longest_gap &&
         table.rank({now.reference, now.position}) == table.rank({before.reference, before.position}) + 1;
}

// Whether the windows of these hits contain `least` different foreign names, numbers and strings.
bool say_enough(std::span<const Hit> hits, std::span<const Symbol> symbols, std::size_t width,
                std::size_t least) {
  std::vector<std::uint64_t> seen;
  for (const Hit& hit : hits)
    for (const Symbol& symbol : symbols.subspan(hit.at, width)) {
      if (seen.size() >= least) return true;
      if (symbol.says_something && std::ranges::find(seen, symbol.hash) == seen.end())
        seen.push_back(symbol.hash);
    }
  return seen.size() >= least;
}

// The longest run. Excludes runs with fewer than `least` different foreign names, numbers and strings, such
// as a list of parameters of one type, or of constants.
std::uint32_t longest_run(const WindowTable& table, std::span<const Hit> hits,
                          std::span<const Symbol> symbols, std::size_t width, std::size_t least) {
  std::uint32_t longest = 0;
  for (std::size_t first = 0, next = 0; first < hits.size(); first = next) {
    for (next = first + 1; next < hits.size() && follows(table, hits[next - 1], hits[next]);) ++next;
    if (next - first <= longest) continue;
    if (say_enough(hits.subspan(first, next - first), symbols, width, least))
      longest = static_cast<std::uint32_t>(next - first);
  }
  return longest;
}

std::uint32_t count_positions(std::span<const Hit> hits) {
  std::vector<std::uint32_t> positions;
  for (const Hit& hit : hits) positions.push_back(hit.position);
  std::ranges::sort(positions);
  return static_cast<std::uint32_t>(std::ranges::unique(positions).begin() - positions.begin());
}

void merge_spans(std::vector<corpus::Span>& spans) {
  std::ranges::sort(spans, {}, [](const corpus::Span& span) { return std::pair(span.begin, span.end); });
  std::size_t kept = 0;
  for (const corpus::Span& span : spans) {
    if (kept > 0 && span.begin <= spans[kept - 1].end)
      spans[kept - 1].end = std::max(spans[kept - 1].end, span.end);
    else
      spans[kept++] = span;
  }
  spans.resize(std::min(kept, most_spans));
}

Match read_match(const WindowTable& table, std::span<const Hit> hits, std::span<const Symbol> symbols,
                 std::size_t width) {
  Match match;
  match.reference = hits[0].reference;
  if (say_enough(hits, symbols, width, least_telling))
    match.renamed = {count_positions(hits), longest_run(table, hits, symbols, width, least_telling)};
  std::vector<Hit> written;
  std::ranges::copy_if(hits, std::back_inserter(written), &Hit::as_written);
  match.written = {count_positions(written), longest_run(table, written, symbols, width, 0)};
  for (const Hit& hit : hits) {
    corpus::Span span{symbols[hit.at].begin, symbols[hit.at + width - 1].end};
    // A window across the end of one stretch may continue in text before it that was read a second time.
    if (span.begin < span.end) match.spans.push_back(span);
  }
  merge_spans(match.spans);
  return match;
}

}  // namespace

std::vector<Match> find_matches(const WindowTable& table, std::span<const Symbol> symbols, std::size_t width,
                                std::size_t least_hits) {
  std::vector<Window> windows = read_windows(symbols, width);
  std::vector<Hit> hits = find_hits(table, windows);
  std::vector<Match> matches;
  for (std::size_t begin = 0, end = 0; begin < hits.size(); begin = end) {
    while (end < hits.size() && hits[end].reference == hits[begin].reference) ++end;
    if (end - begin < least_hits) continue;
    matches.push_back(read_match(table, std::span(hits).subspan(begin, end - begin), symbols, width));
  }
  return matches;
}

void merge(Match& into, const Match& from) {
  for (auto [mine, other] :
       {std::pair(&into.renamed, &from.renamed), std::pair(&into.written, &from.written)}) {
    mine->windows = std::max(mine->windows, other->windows);
    mine->run = std::max(mine->run, other->run);
  }
  into.spans.insert(into.spans.end(), from.spans.begin(), from.spans.end());
  merge_spans(into.spans);
}

}  // namespace kw::leak
