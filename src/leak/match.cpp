#include "leak/match.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace kw::leak {
namespace {

constexpr std::size_t most_hits = 1'000'000;
constexpr std::uint32_t most_repetitions = 256;  // of one window in the text
constexpr std::uint32_t longest_gap = 32;        // windows in a run that everyone writes
constexpr std::size_t most_spans = 64;
constexpr std::size_t least_telling = 4;  // different things that renamed windows must say together

// A window of the text that stands in a reference.
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
  // A run is hits in a row: the same reference and the same offset between the two texts.
  std::ranges::sort(hits, [](const Hit& a, const Hit& b) {
    return std::tuple(a.reference, a.offset(), a.at) < std::tuple(b.reference, b.offset(), b.at);
  });
  return hits;
}

bool follows(const WindowTable& table, const Hit& before, const Hit& now) {
  return before.offset() == now.offset() && now.position - before.position <= longest_gap &&
         table.rank({now.reference, now.position}) == table.rank({before.reference, before.position}) + 1;
}

// Whether there are `least` different names of others, numbers and strings in the windows of these hits.
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

// The longest run; one that says fewer than `least` different things is none: a list of parameters of
// one type, another of constants.
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
    // A window may reach from the end of one stretch back into a piece that was read twice.
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
