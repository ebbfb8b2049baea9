#include "pairs/evidence.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "pairs/words.h"

namespace kw::pairs {
namespace {

// A kind of evidence beside the name.
struct Kind {
  double weight = 0;
  double likeness = 0;  // 0 to 1
  double least = 0;     // from here on it supports the pair
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

}  // namespace kw::pairs
