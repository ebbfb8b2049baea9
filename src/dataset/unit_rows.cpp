#include "dataset/unit_rows.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "dataset/ordered.h"
#include "pairs/hand_made.h"

namespace kw::dataset {
namespace {

using corpus::Row;
using corpus::Unit;
using corpus::UnitKind;

// What the unit's fate and its groups say of all its rows.
void mark(const UnitWorld& world, std::uint32_t number, Row& row) {
  const UnitFate& fate = world.fates[number];
  std::uint32_t kept = fate.fate == Fate::kept ? number : fate.kept_as;
  row.labels = world.units.cards()[number].labels;
  row.split = world.leaks.validation[kept] ? "validation" : "train";
  if (fate.fate != Fate::kept || fate.has_cluster) row.cluster = world.units.cards()[kept].id;
  if (auto leaks = world.leaks.leaks.find(kept); leaks != world.leaks.leaks.end())
    row.leakage.insert(row.leakage.end(), leaks->second.begin(), leaks->second.end());
}

std::vector<std::uint32_t> best_first(const UnitWorld& world, bool cuda_too) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < world.fates.size(); ++i)
    if (world.fates[i].fate == Fate::kept && (cuda_too || world.units.cards()[i].kind == UnitKind::triton))
      numbers.push_back(i);
  std::ranges::sort(numbers, {}, [&](std::uint32_t i) {
    const corpus::Labels& labels = world.units.cards()[i].labels;
    return std::tuple(!labels.self_contained, !labels.clear_argument_shapes, i);
  });
  return numbers;
}

// The units of one source that may be in a pair, without what no pair shows.
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

class PairMaker {
 public:
  PairMaker(const UnitWorld& world, const BuildSettings& settings, RowSink& sink)
      : world_(world), settings_(settings), sink_(sink) {}

  PairTally tally;

  // All sources' CUDA pairs come before the first PyTorch pair.
  Result<> add(std::uint32_t source, bool cuda) {
    std::vector<std::uint32_t> numbers;
    auto units = of_source(world_.units, source, numbers);
    if (!units) return std::unexpected(units.error());
    UnitKind other = cuda ? UnitKind::cuda_kernel : UnitKind::torch;
    auto has = [&](UnitKind kind) {
      return std::ranges::any_of(*units, [&](auto& u) { return u.kind == kind; });
    };
    if (!has(other) || !has(UnitKind::triton)) return {};
    auto weak = settings_.match;
    weak.least_confidence = std::min(weak.least_confidence, 0.3);
    for (const pairs::Match& match :
         cuda ? pairs::match_cuda(*units, weak) : pairs::match_torch(*units, weak)) {
      if (match.evidence.confidence < settings_.match.least_confidence) {
        if (cuda) ++tally.cuda_weak;
        continue;
      }
      std::uint32_t from = numbers[match.from];
      std::uint32_t to = numbers[match.to];
      if (!seen_.emplace(stands_for(from), stands_for(to)).second) continue;
      Row row = pairs::pair_row((*units)[match.from], (*units)[match.to], match);
      mark(world_, to, row);
      ++(cuda ? tally.cuda : tally.torch);
      sink_.add(std::move(row));
    }
    return {};
  }

  Result<> add_hand_made(const std::string& folder) {
    auto rows = pairs::hand_made_pairs(folder);
    if (!rows) return std::unexpected(rows.error());
    for (Row& row : *rows) {
      ++tally.cuda;
      sink_.add(std::move(row));
    }
    return {};
  }

 private:
  std::uint32_t stands_for(std::uint32_t number) const {
    const UnitFate& fate = world_.fates[number];
    return fate.fate == Fate::kept || fate.fate == Fate::out ? number : fate.kept_as;
  }

  const UnitWorld& world_;
  const BuildSettings& settings_;
  RowSink& sink_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen_;
};

}  // namespace

Result<> add_fim_rows(const UnitWorld& world, const BuildSettings& settings, const Watch& watch,
                      RowSink& sink) {
  using Made = Result<std::vector<Row>>;
  Result<> outcome;
  Ordered<std::uint32_t, Made> pool(
      settings.threads,
      [&](std::uint32_t number) -> Made {
        auto unit = world.units.at(number);
        if (!unit) return std::unexpected(unit.error());
        auto rows = pairs::fim_rows(*unit, settings.fim);
        for (Row& row : rows) mark(world, number, row);
        return rows;
      },
      [&](Made rows) {
        if (!rows) outcome = std::unexpected(rows.error());
        if (!rows) return;
        for (Row& row : *rows) sink.add(std::move(row));
      });
  std::uint64_t done = 0;
  auto numbers = best_first(world, settings.cuda_fim);
  for (std::uint32_t number : numbers) {
    if (watch.stop && watch.stop()) return fail("interrupted");
    if (watch.progress) watch.progress("rows", ++done, numbers.size());
    pool.push(number);
  }
  pool.finish();
  return outcome;
}

Result<PairTally> add_pair_rows(const UnitWorld& world, std::uint32_t sources, const BuildSettings& settings,
                                RowSink& sink) {
  PairMaker maker(world, settings, sink);
  for (bool cuda : {true, false}) {
    for (std::uint32_t source = 0; source < sources; ++source)
      if (auto added = maker.add(source, cuda); !added) return std::unexpected(added.error());
    if (!cuda) break;
    for (const std::string& folder : settings.pairs)
      if (auto added = maker.add_hand_made(folder); !added) return std::unexpected(added.error());
  }
  return maker.tally;
}

}  // namespace kw::dataset
