#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pairs/evidence.h"
#include "pairs/pairs.h"
#include "pairs/profile.h"
#include "pairs/reference.h"

namespace kw::pairs {
namespace {

using corpus::Unit;
using corpus::UnitKind;

// A word that more units than this have is not looked up: a pair shares a rarer one, or is not worth it.
constexpr std::size_t most_units_a_word = 400;
constexpr std::size_t most_candidates = 64;  // of one unit, those that share the rarest words

using Index = std::unordered_map<std::string, std::vector<std::size_t>>;

using Names = std::set<std::string, std::less<>>;

// A rewrite of PyTorch code has to be called: a helper that nothing launches is none.
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

// Numbers of the profiles that share words with this one, those with the rarest first.
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

// The function that launches the kernel is no reference for it.
bool launches_it(const Unit& from, const Unit& to) {
  if (from.kind != UnitKind::torch) return false;
  auto is_caller = [&](const corpus::Launch& launch) {
    return launch.caller == from.name && from.place.path == to.place.path;
  };
  return std::ranges::any_of(to.launches, is_caller) || from.text.find(to.name + "[") != std::string::npos;
}

Match match_of(const Unit& to, std::size_t from_index, std::size_t to_index, Verdict verdict) {
  Match match;
  match.from = from_index;
  match.to = to_index;
  match.evidence.confidence = verdict.confidence;
  match.evidence.reasons = std::move(verdict.reasons);
  match.evidence.other = to.place;
  match.evidence.other_licence = to.licence;
  return match;
}

// Best first, each unit once; what is equally good is ordered by the units' ids, so that the order in which
// the files came does not matter.
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
