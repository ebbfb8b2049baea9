#include "dataset/groups.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "base/hash.h"
#include "dataset/ordered.h"

namespace kw::dataset {
namespace {

class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }

  std::uint32_t of(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

std::vector<std::uint32_t> kept_units(const std::vector<UnitFate>& fates) {
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < fates.size(); ++i)
    if (fates[i].fate == Fate::kept) kept.push_back(i);
  return kept;
}

// Pairs of units, by number, that share most of their words.
Result<std::vector<near::Pair>> pairs_by_words(const UnitStore& units, const std::vector<std::uint32_t>& kept,
                                               const BuildSettings& settings, const Watch& watch) {
  near::Parameters words = settings.near;
  words.shingle_tokens = 1;
  words.words_only = true;
  words.threshold = settings.leak.jaccard;
  std::uint64_t sketched_bytes = 0;
  auto joined = join_units(units, kept, words, settings, watch, sketched_bytes);
  if (!joined) return std::unexpected(joined.error());
  for (near::Pair& pair : joined->pairs) {
    pair.a = kept[pair.a];
    pair.b = kept[pair.b];
  }
  return std::move(joined->pairs);
}

corpus::Leak resembles(const UnitCard& other, double jaccard) {
  corpus::Leak leak;
  leak.relation = "rows";
  leak.against = "units of this set";
  leak.row = other.id;
  leak.jaccard = jaccard;
  return leak;
}

// Train units that hold pieces of validation units.
Result<> find_across(const UnitStore& units, const std::vector<std::uint32_t>& kept,
                     const BuildSettings& settings, UnitLeaks& found) {
  std::vector<leak::Reference> references;
  for (std::uint32_t unit : kept) {
    if (!found.validation[unit]) continue;
    auto text = units.text(unit);
    if (!text) return std::unexpected(text.error());
    references.push_back({"validation", units.cards()[unit].id, std::move(*text)});
  }
  // Kernels of one family share lines honestly: a greater part has to be the same.
  leak::Thresholds thresholds = settings.leak;
  thresholds.least_windows = std::numeric_limits<std::size_t>::max();
  leak::Index index(std::move(references), thresholds);
  using Leaks = std::pair<std::uint32_t, Result<std::vector<corpus::Leak>>>;
  Result<> outcome;
  Ordered<std::uint32_t, Leaks> pool(
      settings.threads,
      [&](std::uint32_t unit) -> Leaks {
        auto text = units.text(unit);
        if (!text) return {unit, std::unexpected(text.error())};
        return {unit, index.check(*text, "unit")};
      },
      [&](Leaks leaks) {
        if (!leaks.second) outcome = std::unexpected(leaks.second.error());
        if (!leaks.second || leaks.second->empty()) return;
        for (corpus::Leak& leak : *leaks.second) leak.relation = "split";
        auto& all = found.leaks[leaks.first];
        all.insert(all.end(), leaks.second->begin(), leaks.second->end());
      });
  for (std::uint32_t unit : kept)
    if (!found.validation[unit]) pool.push(unit);
  pool.finish();
  return outcome;
}

}  // namespace

bool in_validation(const std::string& name, std::uint64_t seed, double share) {
  std::string hash = sha256_hex(fmt::format("{} {}", seed, name)).substr(0, 12);
  return static_cast<double>(std::stoull(hash, nullptr, 16)) < share * static_cast<double>(1ULL << 48U);
}

Result<UnitLeaks> split_units(const UnitStore& units, const std::vector<UnitFate>& fates,
                              const BuildSettings& settings, const Watch& watch) {
  UnitLeaks found;
  found.validation.resize(fates.size());
  std::vector<std::uint32_t> kept = kept_units(fates);
  auto pairs = pairs_by_words(units, kept, settings, watch);
  if (!pairs) return std::unexpected(pairs.error());
  Groups groups(fates.size());
  for (const near::Pair& pair : *pairs) {
    groups.join(pair.a, pair.b);
    found.leaks[pair.a].push_back(resembles(units.cards()[pair.b], pair.jaccard));
    found.leaks[pair.b].push_back(resembles(units.cards()[pair.a], pair.jaccard));
  }
  std::unordered_map<std::uint32_t, std::string> name_of;  // of a group: the smallest id in it
  for (std::uint32_t unit : kept) {
    std::string& name = name_of[groups.of(unit)];
    const std::string& id = units.cards()[unit].id;
    if (name.empty() || id < name) name = id;
  }
  for (std::uint32_t unit : kept)
    found.validation[unit] =
        in_validation(name_of[groups.of(unit)], settings.seed, settings.validation_share);
  if (auto across = find_across(units, kept, settings, found); !across)
    return std::unexpected(across.error());
  return found;
}

}  // namespace kw::dataset
