#include "dataset/build/similar_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "base/core/crypto.h"
#include "dataset/build/build_summary.h"
#include "dataset/build/ordered.h"
#include "dataset/build/sketches.h"

namespace kw::dataset {
namespace {

int compile_rank(const UnitCard& card) {
  switch (card.labels.compile) {
    case corpus::CompileLabel::compilable:
      return 3;
    case corpus::CompileLabel::signature_unknown:
      return 2;
    case corpus::CompileLabel::not_tried:
      return 1;
    case corpus::CompileLabel::fails:
      break;
  }
  return 0;
}

// Keeps the better of two units with the same key; the other one points to it.
class Keys {
 public:
  Keys(const UnitStore& units, std::vector<UnitFate>& fates, Fate fate)
      : units_(units), fates_(fates), fate_(fate) {}

  std::uint64_t dropped() const { return dropped_; }

  void add(std::uint32_t number, const std::string& key) {
    auto [found, is_new] = best_.try_emplace(key, number);
    if (is_new) return;
    ++dropped_;
    std::uint32_t other = found->second;
    if (better(units_.cards()[number], units_.cards()[other])) std::swap(number, other);
    found->second = other;
    fates_[number] = {fate_, other, 1, false};
  }

 private:
  const UnitStore& units_;
  std::vector<UnitFate>& fates_;
  Fate fate_;
  std::unordered_map<std::string, std::uint32_t> best_;
  std::uint64_t dropped_ = 0;
};

std::string with_kind(const UnitCard& card, const std::string& key) {
  return std::to_string(static_cast<int>(card.kind)) + key;
}

// The unit that replaced a dropped unit may have been dropped later.
void follow(std::vector<UnitFate>& fates) {
  for (UnitFate& fate : fates)
    while (fate.fate != Fate::kept && fate.fate != Fate::out && fates[fate.kept_as].fate != Fate::kept)
      fate.kept_as = fates[fate.kept_as].kept_as;
}

}  // namespace

bool better(const UnitCard& a, const UnitCard& b) {
  if (a.spdx.empty() != b.spdx.empty()) return b.spdx.empty();
  if (int x = compile_rank(a), y = compile_rank(b); x != y) return x > y;
  if (a.stars != b.stars) return a.stars > b.stars;
  if (a.labels.self_contained != b.labels.self_contained) return a.labels.self_contained;
  if (a.text_bytes != b.text_bytes) return a.text_bytes > b.text_bytes;
  return a.id < b.id;
}

std::vector<UnitFate> drop_equal(const UnitStore& units, const std::function<bool(const UnitCard&)>& wanted,
                                 DuplicateFacts& facts) {
  const auto& cards = units.cards();
  std::vector<UnitFate> fates(cards.size());
  Keys exact(units, fates, Fate::exact);
  for (std::uint32_t i = 0; i < cards.size(); ++i) {
    if (!wanted(cards[i])) continue;
    fates[i].fate = Fate::kept;
    exact.add(i, with_kind(cards[i], cards[i].key));
  }
  Keys renamed(units, fates, Fate::renamed);
  for (std::uint32_t i = 0; i < cards.size(); ++i)
    if (fates[i].fate == Fate::kept) renamed.add(i, with_kind(cards[i], cards[i].renamed_sha1));
  follow(fates);
  facts.exact_units = exact.dropped();
  facts.renamed_units = renamed.dropped();
  return fates;
}

namespace {

Result<std::uint64_t> sketch_units(const UnitStore& units, const std::vector<std::uint32_t>& numbers,
                                   const std::vector<Digest>& keys, KeptSketches& sketches,
                                   unsigned threads) {
  Sketching sketching(sketches, threads, [](std::uint32_t, bool) {});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (sketches.has(keys[i])) continue;
    sketching.push([&units, number = numbers[i], key = keys[i]]() -> Result<Sketching::Prepared> {
      auto text = units.text(number);
      if (!text) return std::unexpected(text.error());
      return Sketching::Prepared{key, std::move(*text)};
    });
  }
  if (auto done = sketching.finish(); !done) return std::unexpected(done.error());
  return sketching.sketched_bytes();
}

}  // namespace

Result<near::Joined> join_units(const UnitStore& units, const std::vector<std::uint32_t>& numbers,
                                const near::Parameters& parameters, const BuildSettings& settings,
                                const Watch& watch, std::uint64_t& sketched_bytes) {
  std::vector<Digest> keys;
  for (std::uint32_t number : numbers) keys.push_back(digest_of_hex(units.cards()[number].text_sha1));
  auto sketches = KeptSketches::open(settings.state / "sketches", parameters);
  if (!sketches) return std::unexpected(sketches.error());
  auto bytes = sketch_units(units, numbers, keys, *sketches, settings.threads);
  if (!bytes) return std::unexpected(bytes.error());
  sketched_bytes = *bytes;
  // In the order of the units, so that the result does not depend on the builds that made the sketches.
  auto selected = sketches->select(keys);
  if (!selected) return std::unexpected(selected.error());
  near::JoinOptions join;
  join.threads = settings.threads;
  join.memory_bytes = settings.memory_bytes / 2;
  join.stop = watch.stop;
  // Reports list all pairs with similar words. Of the other pairs, any that connect a cluster suffice.
  join.all_pairs = parameters.words_only;
  return near::join(*selected, [&](std::uint32_t i) { return units.text(numbers[i]); }, join);
}

Result<> drop_near(UnitStore& units, std::vector<UnitFate>& fates, const BuildSettings& settings,
                   const Watch& watch, DuplicateFacts& facts, std::vector<Stage>& stages) {
  auto begin = Clock::now();
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < fates.size(); ++i)
    if (fates[i].fate == Fate::kept) numbers.push_back(i);
  Stage stage{"near duplicates", 0, 0, numbers.size()};
  auto joined = join_units(units, numbers, settings.near, settings, watch, stage.bytes);
  if (!joined) return std::unexpected(joined.error());
  auto preferred = [&](std::uint32_t a, std::uint32_t b) {
    return better(units.cards()[numbers[a]], units.cards()[numbers[b]]);
  };
  auto clusters = near::choose(
      joined->pairs, static_cast<std::uint32_t>(numbers.size()),
      [&](std::uint32_t i) { return units.text(numbers[i]); }, settings.near, preferred);
  if (!clusters) return std::unexpected(clusters.error());
  stage.seconds = seconds_since(begin);
  stages.push_back(stage);

  for (const near::Cluster& cluster : *clusters) {
    std::uint32_t kept = numbers[cluster.kept];
    if (cluster.dropped.empty()) continue;
    ++facts.clusters;
    facts.largest_cluster = std::max<std::uint64_t>(facts.largest_cluster, cluster.dropped.size() + 1);
    fates[kept].has_cluster = true;
    for (const near::Cluster::Member& member : cluster.dropped) {
      ++facts.near_units;
      fates[numbers[member.number]] = {Fate::near, kept, member.jaccard, false};
    }
  }
  for (UnitFate& fate : fates)
    if ((fate.fate == Fate::exact || fate.fate == Fate::renamed) && fates[fate.kept_as].fate == Fate::near) {
      fate.jaccard = fates[fate.kept_as].jaccard;
      fate.kept_as = fates[fate.kept_as].kept_as;
    }
  facts.candidates = joined->tally.candidates;
  facts.verified = joined->tally.verified;
  facts.over = joined->tally.over;
  return {};
}

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

// Pairs of units (by number) that share most of their words.
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

// Finds train units that contain pieces of validation units.
Result<> find_across(const UnitStore& units, const std::vector<std::uint32_t>& kept,
                     const BuildSettings& settings, UnitLeaks& found) {
  std::vector<leak::Reference> references;
  for (std::uint32_t unit : kept) {
    if (!found.validation[unit]) continue;
    auto text = units.text(unit);
    if (!text) return std::unexpected(text.error());
    references.push_back({"validation", units.cards()[unit].id, std::move(*text)});
  }
  // Independent kernels of one family share some lines, so short runs are not leaks here.
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
  std::unordered_map<std::uint32_t, std::string> name_of;  // by group: its smallest id
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
