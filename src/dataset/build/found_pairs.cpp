#include "dataset/build/found_pairs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dataset/pairs/pairs.h"

namespace kw::dataset {
namespace {

using corpus::Unit;
using corpus::UnitKind;

// The units of one source that may be in a pair, without fields that pairs do not use.
Result<std::vector<Unit>> of_source(const UnitStore& store, std::uint32_t source,
                                    std::vector<std::uint32_t>& numbers) {
  std::vector<Unit> units;
  auto [first, last] = store.of_source(source);
  for (std::size_t i = first; i < last; ++i) {
    if (!store.cards()[i].allowed) continue;
    auto unit = store.at(i);
    if (!unit) return std::unexpected(unit.error());
    unit->region.clear();
    units.push_back(std::move(*unit));
    numbers.push_back(static_cast<std::uint32_t>(i));
  }
  return units;
}

class PairSearch {
 public:
  PairSearch(const UnitStore& units, const std::vector<UnitFate>& fates, const BuildSettings& settings)
      : units_(units), fates_(fates), settings_(settings) {}

  FoundPairs found;

  Result<> search(std::uint32_t source) {
    std::vector<std::uint32_t> numbers;
    auto units = of_source(units_, source, numbers);
    if (!units) return std::unexpected(units.error());
    auto has = [&](UnitKind kind) {
      return std::ranges::any_of(*units, [&](auto& u) { return u.kind == kind; });
    };
    if (!has(UnitKind::triton)) return {};
    auto weak = settings_.match;
    weak.least_confidence = std::min(weak.least_confidence, 0.3);
    if (has(UnitKind::cuda_kernel)) take(pairs::match_cuda(*units, weak), numbers, true);
    if (has(UnitKind::torch)) take(pairs::match_torch(*units, weak), numbers, false);
    return {};
  }

 private:
  void take(std::vector<pairs::Match> matches, const std::vector<std::uint32_t>& numbers, bool cuda) {
    for (pairs::Match& match : matches) {
      if (match.evidence.confidence < settings_.match.least_confidence) {
        if (cuda) ++found.cuda_weak;
        continue;
      }
      FoundPair pair{numbers[match.from], numbers[match.to], std::move(match.evidence)};
      if (seen_.emplace(stands_for(pair.from), stands_for(pair.to)).second)
        (cuda ? found.cuda : found.torch).push_back(std::move(pair));
    }
  }

  std::uint32_t stands_for(std::uint32_t number) const {
    const UnitFate& fate = fates_[number];
    return fate.fate == Fate::kept || fate.fate == Fate::out ? number : fate.kept_as;
  }

  const UnitStore& units_;
  const std::vector<UnitFate>& fates_;
  const BuildSettings& settings_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen_;
};

}  // namespace

Result<FoundPairs> find_pairs(const UnitStore& units, const std::vector<UnitFate>& fates,
                              std::uint32_t sources, const BuildSettings& settings) {
  PairSearch search(units, fates, settings);
  for (std::uint32_t source = 0; source < sources; ++source)
    if (auto done = search.search(source); !done) return std::unexpected(done.error());
  return std::move(search.found);
}

}  // namespace kw::dataset
