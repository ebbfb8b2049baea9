#include "pairs/cuts.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "harvest/holes.h"
#include "pairs/code_text.h"

namespace kw::pairs {
namespace {

using corpus::Span;

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t hash_of(std::string_view text, std::uint64_t start) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ mixed(start);
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return mixed(hash);
}

// A middle of the wrong bytes cannot stand in a text file.
bool cuts_a_character(std::string_view region, Span middle) {
  auto continues = [&](std::size_t at) {
    return at < region.size() && (static_cast<unsigned char>(region[at]) & 0xc0U) == 0x80;
  };
  return continues(middle.begin) || continues(middle.end);
}

bool is_worth_it(const corpus::Unit& unit, Span function, Span middle, const FimOptions& options) {
  if (middle.begin < function.begin || middle.end > function.end || middle.begin >= middle.end) return false;
  if (middle == function || cuts_a_character(unit.region, middle)) return false;
  std::string_view text = std::string_view(unit.region).substr(middle.begin, middle.end - middle.begin);
  return trim(text).size() >= options.least_middle_bytes && holds_code(text, language_of(unit.kind));
}

bool has(const std::vector<Cut>& cuts, Span middle) {
  return std::ranges::any_of(cuts, [&](const Cut& cut) { return cut.middle == middle; });
}

std::size_t line_start_from(std::string_view text, std::size_t at) {
  if (at == 0 || text[at - 1] == '\n') return at;
  std::size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::size_t line_start_before(std::string_view text, std::size_t at) {
  if (at >= text.size()) return text.size();
  std::size_t end = text.substr(0, at).rfind('\n');
  return end == std::string_view::npos ? 0 : end + 1;
}

}  // namespace

std::vector<Cut> choose_cuts(const corpus::Unit& unit, Span function, const FimOptions& options) {
  std::uint64_t start = hash_of(unit.id, options.seed);
  std::vector<Cut> all;
  std::vector<harvest::HoleSpan> holes = {
      {.node = "body", .middle = {function.begin + unit.signature_bytes, function.end}}};
  for (harvest::HoleSpan& hole : harvest::hole_spans(unit.region, function, language_of(unit.kind)))
    holes.push_back(std::move(hole));
  for (harvest::HoleSpan& hole : holes) {
    if (!is_worth_it(unit, function, hole.middle, options)) continue;
    std::uint64_t place =
        mixed((hole.middle.begin - function.begin) * 0x9e3779b97f4a7c15U + hole.middle.end - function.begin);
    std::uint64_t hash = hash_of(hole.node, start ^ place);
    all.push_back({.node = std::move(hole.node), .middle = hole.middle, .hash = hash});
  }
  std::ranges::sort(all, {}, [](const Cut& cut) { return std::tuple(cut.hash, cut.middle.begin); });
  const std::array<std::pair<std::string_view, unsigned>, 4> wanted = {{
      {"body", 1},
      {"block", options.blocks},
      {"expression", options.expressions},
      {"call", options.calls},
  }};
  std::vector<Cut> chosen;
  for (auto [node, most] : wanted) {
    unsigned taken = 0;
    for (const Cut& cut : all) {
      if (taken == most) break;
      if (cut.node != node || has(chosen, cut.middle)) continue;
      chosen.push_back(cut);
      ++taken;
    }
  }
  return chosen;
}

std::optional<Span> fit_region(std::string_view region, Span middle, std::size_t bytes) {
  if (region.size() <= bytes) return Span{0, region.size()};
  std::size_t length = middle.end - middle.begin;
  if (length > bytes) return {};
  std::size_t spare = bytes - length;
  std::size_t behind = region.size() - middle.end;
  std::size_t before = std::min(middle.begin, std::max(spare / 2, spare - std::min(spare, behind)));
  behind = std::min(behind, spare - before);
  Span fit{line_start_from(region, middle.begin - before), line_start_before(region, middle.end + behind)};
  if (fit.begin > middle.begin || fit.end < middle.end) return {};
  return fit;
}

}  // namespace kw::pairs
