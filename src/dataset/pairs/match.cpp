#include "dataset/pairs/match.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/core/text.h"
#include "dataset/pairs/pairs.h"
#include "dataset/pairs/profile.h"
#include "dataset/pairs/words.h"

namespace kw::pairs {
namespace {

// A kind of evidence besides the name.
struct Kind {
  double weight = 0;
  double likeness = 0;  // 0 to 1
  double least = 0;     // a likeness of at least this supports the pair
  std::string reason;
};

struct NameMatch {
  double likeness = 0;
  Words words;
};

NameMatch best_names(const Profile& from, const Profile& to, const Rarity& rarity) {
  NameMatch best;
  for (std::size_t i = 0; i < from.names.size(); ++i) {
    for (std::size_t j = 0; j < to.names.size(); ++j) {
      double of_launchers = (i > 0 ? 0.95 : 1.0) * (j > 0 ? 0.95 : 1.0);
      double likeness = rarity.likeness(from.names[i], to.names[j]) * of_launchers;
      if (likeness > best.likeness) best = {likeness, common(from.names[i], to.names[j])};
    }
  }
  return best;
}

std::optional<Kind> of_parameters(const Profile& from, const Profile& to) {
  std::size_t fewer = std::min(from.parameters.size(), to.parameters.size());
  if (fewer < 2) return {};
  Words shared = common(from.parameters, to.parameters);
  double likeness = static_cast<double>(shared.size()) / static_cast<double>(fewer);
  return Kind{
      .weight = 0.3,
      .likeness = likeness,
      .least = 0.3,
      .reason = fmt::format("parameters: {} of {} ({})", shared.size(), fewer, fmt::join(shared, ", "))};
}

std::optional<Kind> of_operations(const Profile& from, const Profile& to) {
  int either = std::popcount(from.operations | to.operations);
  if (either == 0) return {};
  Operations both = from.operations & to.operations;
  return Kind{.weight = 0.3,
              .likeness = static_cast<double>(std::popcount(both)) / either,
              .least = 0.3,
              .reason = fmt::format("operations: {}", fmt::join(operation_names(both), ", "))};
}

std::optional<Kind> of_launchers(const Profile& from, const Profile& to, const Rarity& rarity) {
  if (from.launchers.empty() || to.launchers.empty()) return {};
  Kind best{.weight = 0.2, .likeness = 0, .least = 0.5, .reason = {}};
  for (const std::string& a : from.launchers) {
    for (const std::string& b : to.launchers) {
      double likeness = rarity.likeness(words_of(a), words_of(b));
      if (likeness <= best.likeness) continue;
      best.likeness = likeness;
      best.reason = fmt::format("launchers: {}, {}", a, b);
    }
  }
  return best;
}

std::optional<Kind> of_words(std::string_view what, const Words& from, const Words& to,
                             const Rarity& rarity) {
  if (from.empty() || to.empty()) return {};
  return Kind{.weight = 0.1,
              .likeness = rarity.overlap(from, to),
              .least = 0.3,
              .reason = fmt::format("{}: {}", what, fmt::join(common(from, to), ", "))};
}

std::string contradiction_of(const Profile& from, const Profile& to) {
  if (from.names.empty() || to.names.empty()) return "no name";
  return contradiction(from.names.front(), to.names.front());
}

}  // namespace

std::optional<Verdict> compare(const Profile& from, const Profile& to, const Rarities& rarities) {
  const Rarity& rarity = rarities.names;
  if (!contradiction_of(from, to).empty()) return {};
  NameMatch name = best_names(from, to, rarity);
  if (name.words.empty()) return {};
  double rare = std::min(1.0, rarity.shared(name.words, name.words) / 6);
  Verdict verdict{.reasons = {fmt::format("name: {}", fmt::join(name.words, " "))}};
  double weights = 0;
  double sum = 0;
  for (const std::optional<Kind>& kind :
       {of_parameters(from, to), of_operations(from, to), of_launchers(from, to, rarity),
        of_words("calls", from.calls, to.calls, rarity),
        of_words("path", from.path, to.path, rarities.paths)}) {
    if (!kind) continue;
    weights += kind->weight;
    sum += kind->weight * kind->likeness;
    if (kind->likeness >= kind->least) verdict.reasons.push_back(kind->reason);
  }
  if (verdict.reasons.size() < 2) return {};
  double confidence = name.likeness * rare * (0.5 + sum / weights / 2);
  verdict.confidence = std::round(confidence * 1'000) / 1'000;
  return verdict;
}

namespace {

using corpus::Unit;
using corpus::UnitKind;

// The class of `Class.forward` and `Class.apply`: these method names are not distinctive.
std::string_view owner(std::string_view name) {
  for (std::string_view method : {".forward", ".backward", ".apply", ".__call__", ".run"})
    if (name.ends_with(method)) return name.substr(0, name.size() - method.size());
  return name;
}

bool calls_one_of(const Unit& unit, const Names& names) {
  return std::ranges::any_of(unit.calls,
                             [&](const std::string& call) { return names.contains(owner(call)); });
}

// Signs of other kernels, in the imports that the unit needs or in its own text.
constexpr std::array<std::string_view, 15> other_ways = {
    "cuda.tile", "ct.launch", "cutlass", "cute.",  "tilelang", "pallas",      "numba",      "cupy",
    "tvm",       "torch.ops", "_C.",     "quack.", "[grid]",   "load_inline", "flashinfer."};

// Whether the text calls a custom autograd function: `RmsNormFunction.apply(...)`. Excludes a module's own
// apply().
bool applies_a_function(std::string_view text) {
  constexpr std::string_view call = ".apply(";
  for (std::size_t at = text.find(call); at != std::string_view::npos; at = text.find(call, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    if (begin < at && text[begin] >= 'A' && text[begin] <= 'Z') return true;
  }
  return false;
}

bool goes_another_way(const Unit& unit) {
  if (applies_a_function(unit.text)) return true;
  return std::ranges::any_of(other_ways, [&](std::string_view mark) {
    return unit.text.find(mark) != std::string::npos || unit.context.find(mark) != std::string::npos;
  });
}

}  // namespace

Names names_that_launch(const std::vector<Unit>& units) {
  Names names;
  for (const Unit& unit : units) {
    if (unit.kind != UnitKind::triton) continue;
    names.insert(unit.name);
    for (const corpus::Launch& launch : unit.launches)
      if (!launch.caller.empty()) names.emplace(owner(launch.caller));
  }
  // Each round follows chains of wrappers by one step; chains are short.
  constexpr int most_rounds = 8;
  for (int round = 0; round < most_rounds; ++round) {
    std::size_t before = names.size();
    for (const Unit& unit : units)
      if (unit.kind == UnitKind::torch && !names.contains(unit.name) && calls_one_of(unit, names))
        names.insert(unit.name);
    if (names.size() == before) break;
  }
  return names;
}

bool is_reference(const Unit& unit, const Names& launching) {
  std::vector<std::string> words = words_of(unit.name);
  for (std::string_view pretended : {"fake", "meta", "mock", "abstract", "benchmark", "bench"})
    if (std::ranges::find(words, pretended) != words.end()) return false;
  return !calls_one_of(unit, launching) && !goes_another_way(unit);
}

namespace {

using corpus::Unit;
using corpus::UnitKind;

// Words of more units are not looked up: a good pair shares a rarer one.
constexpr std::size_t most_units_a_word = 400;
constexpr std::size_t most_candidates = 64;  // per unit: those that share the rarest words

using Index = std::unordered_map<std::string, std::vector<std::size_t>>;

// A rewrite of PyTorch code must be launched; a helper without a launch is not one.
bool may_be_paired(const Unit& unit, UnitKind from, const Names& launching) {
  if (from != UnitKind::torch) return unit.kind == from || unit.kind == UnitKind::triton;
  if (unit.kind == UnitKind::triton) return !unit.launches.empty();
  return unit.kind == UnitKind::torch && is_reference(unit, launching);
}

std::vector<Profile> profiles(const std::vector<Unit>& units, const std::vector<bool>& chosen, UnitKind kind,
                              const Launched& launched) {
  std::vector<Profile> out;
  for (std::size_t i = 0; i < units.size(); ++i)
    if (chosen[i] && units[i].kind == kind) out.push_back(profile_of(units[i], i, launched));
  return out;
}

Index index_of(const std::vector<Profile>& profiles) {
  Index index;
  for (std::size_t i = 0; i < profiles.size(); ++i)
    for (const std::string& word : profiles[i].all_names) index[word].push_back(i);
  return index;
}

// Numbers of the profiles that share words with this one; those with the rarest words first.
std::vector<std::size_t> candidates(const Profile& profile, const Index& index, const Rarity& rarity,
                                    const std::vector<Profile>& others, const std::vector<Unit>& units) {
  std::map<std::size_t, double> shared;
  for (const std::string& word : profile.all_names) {
    auto found = index.find(word);
    if (found == index.end() || found->second.size() > most_units_a_word) continue;
    for (std::size_t other : found->second) shared[other] += rarity.of(word);
  }
  std::vector<std::pair<std::size_t, double>> ranked(shared.begin(), shared.end());
  std::ranges::sort(ranked, {}, [&](const auto& entry) {
    return std::tuple(-entry.second, std::string_view(units[others[entry.first].unit].id), entry.first);
  });
  std::vector<std::size_t> out;
  for (const auto& [other, score] : ranked) {
    if (out.size() == most_candidates) break;
    out.push_back(other);
  }
  return out;
}

// The function that launches the kernel is not its reference.
bool launches_it(const Unit& from, const Unit& to) {
  if (from.kind != UnitKind::torch) return false;
  auto is_caller = [&](const corpus::Launch& launch) {
    return launch.caller == from.name && from.source.path == to.source.path;
  };
  return std::ranges::any_of(to.launches, is_caller) || from.text.find(to.name + "[") != std::string::npos;
}

Match match_of(const Unit& to, std::size_t from_index, std::size_t to_index, Verdict verdict) {
  Match match;
  match.from = from_index;
  match.to = to_index;
  match.evidence.confidence = verdict.confidence;
  match.evidence.reasons = std::move(verdict.reasons);
  match.evidence.other = to.source;
  match.evidence.other_licence = to.licence;
  return match;
}

// The best pairs first, each unit in at most one. Equally good pairs are ordered by the units' ids, so that
// the order of the files has no effect.
std::vector<Match> one_to_one(std::vector<Match> matches, const std::vector<Unit>& units) {
  std::ranges::sort(matches, {}, [&](const Match& match) {
    return std::tuple(-match.evidence.confidence, std::string_view(units[match.from].id),
                      std::string_view(units[match.to].id), match.from, match.to);
  });
  std::vector<bool> taken(units.size());
  std::vector<Match> out;
  for (Match& match : matches) {
    if (taken[match.from] || taken[match.to]) continue;
    taken[match.from] = taken[match.to] = true;
    out.push_back(std::move(match));
  }
  return out;
}

std::vector<Match> match(const std::vector<Unit>& units, UnitKind kind, const MatchOptions& options) {
  Launched launched = count_launched(units);
  Names launching = kind == UnitKind::torch ? names_that_launch(units) : Names{};
  std::vector<bool> chosen;
  for (const Unit& unit : units) chosen.push_back(may_be_paired(unit, kind, launching));
  std::vector<Profile> from = profiles(units, chosen, kind, launched);
  std::vector<Profile> to = profiles(units, chosen, UnitKind::triton, launched);
  Rarities rarities;
  for (const auto* side : {&from, &to}) {
    for (const Profile& profile : *side) {
      rarities.names.add(profile.all_names);
      rarities.paths.add(profile.path);
    }
  }
  Index index = index_of(to);
  std::vector<Match> matches;
  for (const Profile& profile : from) {
    for (std::size_t other : candidates(profile, index, rarities.names, to, units)) {
      const Unit& target = units[to[other].unit];
      if (launches_it(units[profile.unit], target)) continue;
      std::optional<Verdict> verdict = compare(profile, to[other], rarities);
      if (!verdict || verdict->confidence < options.least_confidence) continue;
      matches.push_back(match_of(target, profile.unit, to[other].unit, std::move(*verdict)));
    }
  }
  return one_to_one(std::move(matches), units);
}

}  // namespace

std::vector<Match> match_cuda(const std::vector<Unit>& units, const MatchOptions& options) {
  return match(units, UnitKind::cuda_kernel, options);
}

std::vector<Match> match_torch(const std::vector<Unit>& units, const MatchOptions& options) {
  return match(units, UnitKind::torch, options);
}

}  // namespace kw::pairs
