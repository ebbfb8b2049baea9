#include "brute_force.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace kw::bench {
namespace {

using Sets = std::vector<std::vector<std::uint64_t>>;
using Index = std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>;

// Pairs in which `b` is the later text.
void pairs_of(std::uint32_t b, const Sets& sets, const Index& index, double threshold,
              std::vector<std::uint32_t>& common, std::vector<near::Pair>& pairs) {
  std::fill_n(common.begin(), b, 0);
  for (std::uint64_t shingle : sets[b])
    for (std::uint32_t a : index.at(shingle)) {
      if (a >= b) break;
      ++common[a];
    }
  for (std::uint32_t a = 0; a < b; ++a) {
    if (common[a] == 0) continue;
    double all = static_cast<double>(sets[a].size() + sets[b].size() - common[a]);
    double jaccard = static_cast<double>(common[a]) / all;
    if (jaccard >= threshold) pairs.push_back({a, b, jaccard});
  }
}

}  // namespace

std::vector<near::Pair> brute_force(const Sets& sets, double threshold, unsigned threads) {
  Index index;
  for (std::uint32_t number = 0; number < sets.size(); ++number)
    for (std::uint64_t shingle : sets[number]) index[shingle].push_back(number);
  std::atomic<std::uint32_t> next = 0;
  std::mutex mutex;
  std::vector<near::Pair> pairs;
  auto work = [&] {
    std::vector<std::uint32_t> common(sets.size());
    std::vector<near::Pair> found;
    for (std::uint32_t b = next++; b < sets.size(); b = next++)
      pairs_of(b, sets, index, threshold, common, found);
    std::scoped_lock lock(mutex);
    pairs.insert(pairs.end(), found.begin(), found.end());
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
  }
  std::ranges::sort(pairs, {}, [](const near::Pair& p) { return std::pair(p.a, p.b); });
  return pairs;
}

}  // namespace kw::bench
