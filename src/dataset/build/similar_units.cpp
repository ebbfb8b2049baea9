#include "dataset/build/similar_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "code/similarity/operations.h"
#include "dataset/build/build_summary.h"
#include "dataset/build/originals.h"
#include "dataset/build/sketches.h"

namespace kw::dataset {
namespace {

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
  // Two kernels that differ in max and min alone share nearly all words.
  auto alike = [&](std::uint32_t kept, std::uint32_t dropped) -> Result<bool> {
    auto a = units.text(numbers[kept]);
    if (!a) return std::unexpected(a.error());
    auto b = units.text(numbers[dropped]);
    if (!b) return std::unexpected(b.error());
    return !near::differ(near::operations_of(*a), near::operations_of(*b));
  };
  auto clusters = near::choose(
      joined->pairs, static_cast<std::uint32_t>(numbers.size()),
      [&](std::uint32_t i) { return units.text(numbers[i]); }, settings.near, preferred, alike);
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

}  // namespace kw::dataset
