#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "dataset/duplicates.h"
#include "dataset/sketches.h"

namespace kw::dataset {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Units by the number of their sketch.
struct Numbered {
  std::vector<std::uint32_t> units;    // kept so far
  std::vector<Digest> keys;                                  // of their texts
  std::unordered_map<std::uint32_t, std::uint32_t> unit_of;  // sketch → unit
};

}  // namespace

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

Result<> drop_near(UnitStore& units, std::vector<UnitFate>& fates, const BuildSettings& settings,
                   const Watch& watch, DuplicateFacts& facts, std::vector<Stage>& stages) {
  Numbered numbered;
  for (std::uint32_t i = 0; i < fates.size(); ++i)
    if (fates[i].fate == Fate::kept) {
      numbered.units.push_back(i);
      numbered.keys.push_back(digest_of_hex(units.cards()[i].text_sha1));
    }
  auto sketches = KeptSketches::open(settings.state / "sketches", settings.near);
  if (!sketches) return std::unexpected(sketches.error());
  auto begin = Clock::now();
  auto bytes = sketch_units(units, numbered.units, numbered.keys, *sketches, settings.threads);
  if (!bytes) return std::unexpected(bytes.error());
  stages.push_back({"sketch", seconds_since(begin), *bytes, numbered.units.size()});
  for (std::size_t i = 0; i < numbered.units.size(); ++i)
    numbered.unit_of.emplace(sketches->number(numbered.keys[i]), numbered.units[i]);

  // Texts that other builds sketched are not among ours: they are empty here, and resemble nothing.
  near::TextAt text = [&](std::uint32_t number) -> Result<std::string> {
    auto found = numbered.unit_of.find(number);
    return found == numbered.unit_of.end() ? Result<std::string>(std::string()) : units.text(found->second);
  };
  begin = Clock::now();
  near::JoinOptions join;
  join.threads = settings.threads;
  join.memory_bytes = settings.memory_bytes / 2;
  join.stop = watch.stop;
  auto joined = near::join(sketches->file(), text, join);
  if (!joined) return std::unexpected(joined.error());
  std::erase_if(joined->pairs, [&](const near::Pair& pair) {
    return !numbered.unit_of.contains(pair.a) || !numbered.unit_of.contains(pair.b);
  });
  auto preferred = [&](std::uint32_t a, std::uint32_t b) {
    return better(units.cards()[numbered.unit_of.at(a)], units.cards()[numbered.unit_of.at(b)]);
  };
  auto clusters = near::choose(joined->pairs, sketches->count(), text, settings.near, preferred);
  if (!clusters) return std::unexpected(clusters.error());
  stages.push_back({"near duplicates", seconds_since(begin), 0, joined->tally.verified});

  for (const near::Cluster& cluster : *clusters) {
    std::uint32_t kept = numbered.unit_of.at(cluster.kept);
    if (cluster.dropped.empty()) continue;
    ++facts.clusters;
    facts.largest_cluster = std::max<std::uint64_t>(facts.largest_cluster, cluster.dropped.size() + 1);
    fates[kept].has_cluster = true;
    for (const near::Cluster::Member& member : cluster.dropped) {
      ++facts.near_units;
      fates[numbered.unit_of.at(member.number)] = {Fate::near, kept, member.jaccard, false};
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
