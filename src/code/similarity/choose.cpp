#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "code/similarity/join.h"
#include "code/similarity/near.h"

namespace kw::near {
namespace {

constexpr std::uint64_t cache_bytes = std::uint64_t{256} << 20;

using Better = std::function<bool(std::uint32_t, std::uint32_t)>;

// The kept texts of one component, indexed by some of their shingles. Two sets with a Jaccard index of t or
// more share at least one of the first |x| - ceil(t * |x|) + 1 shingles of each, in any common order of all
// shingles; the index uses the order of their hashes.
class KeptIndex {
 public:
  explicit KeptIndex(double threshold) : threshold_(threshold) {}

  void add(std::uint32_t ordinal, const Set& set) {
    for (std::uint64_t shingle : first_of(*set)) ordinals_[shingle].push_back(ordinal);
    if (set->empty()) empty_.push_back(ordinal);
  }

  // A superset of the texts at or over the threshold.
  std::set<std::uint32_t> near(const Set& set) const {
    std::set<std::uint32_t> found;
    if (set->empty()) found.insert(empty_.begin(), empty_.end());
    for (std::uint64_t shingle : first_of(*set))
      if (auto at = ordinals_.find(shingle); at != ordinals_.end())
        found.insert(at->second.begin(), at->second.end());
    return found;
  }

 private:
  // One more than the bound, since the product may be rounded up.
  std::span<const std::uint64_t> first_of(const std::vector<std::uint64_t>& set) const {
    auto must_share = static_cast<std::size_t>(threshold_ * static_cast<double>(set.size()));
    return std::span(set).first(std::min(set.size(), set.size() - std::min(must_share, set.size()) + 1));
  }

  double threshold_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> ordinals_;
  std::vector<std::uint32_t> empty_;
};

struct Choice {
  std::span<const Pair> pairs;  // of this component
  SetCache& sets;
  const Parameters& parameters;
  const Better& better;
  const Alike& alike;
};

// Takes the texts from the best on; drops each for the best similar kept text, or keeps it.
class Chooser {
 public:
  explicit Chooser(const Choice& choice) : choice_(choice), index_(choice.parameters.threshold) {}

  Result<std::vector<Cluster>> run() {
    std::vector<std::uint32_t> members;
    for (const Pair& pair : choice_.pairs) members.insert(members.end(), {pair.a, pair.b});
    std::ranges::sort(members);
    auto repeated = std::ranges::unique(members);
    members.erase(repeated.begin(), repeated.end());
    std::ranges::sort(members, [&](std::uint32_t a, std::uint32_t b) {
      if (choice_.better(a, b)) return true;
      return !choice_.better(b, a) && a < b;
    });
    keep(members.front());
    know_pairs_with(members.front());
    for (std::uint32_t number : std::span(members).subspan(1))
      if (auto placed = place(number); !placed) return std::unexpected(placed.error());
    std::erase_if(clusters_, [](const Cluster& cluster) { return cluster.dropped.empty(); });
    for (Cluster& cluster : clusters_) std::ranges::sort(cluster.dropped, {}, &Cluster::Member::number);
    return std::move(clusters_);
  }

 private:
  void keep(std::uint32_t number) { clusters_.push_back({number, {}}); }

  void know_pairs_with(std::uint32_t best) {
    for (const Pair& pair : choice_.pairs) {
      if (pair.a == best) known_.emplace(pair.b, pair.jaccard);
      if (pair.b == best) known_.emplace(pair.a, pair.jaccard);
    }
  }

  Result<bool> alike(std::uint32_t kept, std::uint32_t number) const {
    return choice_.alike ? choice_.alike(kept, number) : Result<bool>(true);
  }

  Result<> place(std::uint32_t number) {
    // Most components are pairs, whose sets need not be read.
    if (auto known = known_.find(number); known != known_.end()) {
      auto is_alike = alike(clusters_.front().kept, number);
      if (!is_alike) return std::unexpected(is_alike.error());
      if (*is_alike) {
        clusters_.front().dropped.push_back({number, known->second});
        return {};
      }
    }
    if (auto whole = index_kept(); !whole) return whole;
    auto set = choice_.sets.at(number);
    if (!set) return std::unexpected(set.error());
    for (std::uint32_t ordinal : index_.near(*set)) {
      auto kept = choice_.sets.at(clusters_[ordinal].kept);
      if (!kept) return std::unexpected(kept.error());
      double index = jaccard(**kept, **set);
      if (index < choice_.parameters.threshold) continue;
      auto is_alike = alike(clusters_[ordinal].kept, number);
      if (!is_alike) return std::unexpected(is_alike.error());
      if (!*is_alike) continue;
      clusters_[ordinal].dropped.push_back({number, index});
      return {};
    }
    keep(number);
    return {};
  }

  Result<> index_kept() {
    for (; indexed_ < clusters_.size(); ++indexed_) {
      auto set = choice_.sets.at(clusters_[indexed_].kept);
      if (!set) return std::unexpected(set.error());
      index_.add(static_cast<std::uint32_t>(indexed_), *set);
    }
    return {};
  }

  const Choice& choice_;
  KeptIndex index_;
  std::size_t indexed_ = 0;
  std::unordered_map<std::uint32_t, double> known_;  // with the best
  std::vector<Cluster> clusters_;                    // in the order of keeping
};

}  // namespace

Result<std::vector<Cluster>> choose(const std::vector<Pair>& pairs, std::uint32_t count, const TextAt& text,
                                    const Parameters& parameters, const Better& better, const Alike& alike) {
  Components components(count);
  for (const Pair& pair : pairs) {
    if (pair.a >= count || pair.b >= count)
      return fail(fmt::format("near duplicates: a pair of texts {} and {}, of {}", pair.a, pair.b, count));
    if (!components.together(pair.a, pair.b)) components.connect(pair.a, pair.b);
  }
  std::vector<Pair> grouped = pairs;
  auto component = [&](const Pair& pair) { return components.of(pair.a); };
  std::ranges::sort(grouped, {},
                    [&](const Pair& pair) { return std::tuple(component(pair), pair.a, pair.b); });
  SetCache sets(text, parameters, cache_bytes);
  std::vector<Cluster> clusters;
  for (std::size_t begin = 0, end = 0; begin < grouped.size(); begin = end) {
    while (end < grouped.size() && component(grouped[end]) == component(grouped[begin])) ++end;
    Choice choice{std::span(grouped).subspan(begin, end - begin), sets, parameters, better, alike};
    auto chosen = Chooser(choice).run();
    if (!chosen) return chosen;
    std::ranges::move(*chosen, std::back_inserter(clusters));
  }
  std::ranges::sort(clusters, {}, &Cluster::kept);
  return clusters;
}

}  // namespace kw::near
