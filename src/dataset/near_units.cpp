#include <algorithm>
#include <chrono>

#include "dataset/duplicates.h"
#include "dataset/sketches.h"

namespace kw::dataset {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

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
  // In the order of the units, so that what is found does not hang on which build sketched what.
  auto selected = sketches->select(keys);
  if (!selected) return std::unexpected(selected.error());
  near::JoinOptions join;
  join.threads = settings.threads;
  join.memory_bytes = settings.memory_bytes / 2;
  join.stop = watch.stop;
  // Pairs of words are shown to people and have to be all of them; which of the others connect a cluster is
  // no matter.
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

}  // namespace kw::dataset
