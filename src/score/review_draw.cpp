#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "score/generator.h"
#include "score/review_sheet.h"

namespace kw::score {
namespace {

// How many of each stratum: one at least while there are enough, the rest in proportion to what is left.
void allot(std::vector<Stratum>& strata, std::size_t count) {
  std::vector<std::size_t> by_size(strata.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::ranges::sort(by_size, [&](std::size_t a, std::size_t b) {
    return strata[a].size != strata[b].size ? strata[a].size > strata[b].size : a < b;
  });
  std::size_t left = count;
  for (std::size_t i : by_size) {
    if (left == 0) return;
    strata[i].drawn = 1;
    --left;
  }
  std::size_t others = 0;
  for (const Stratum& stratum : strata) others += stratum.size - stratum.drawn;
  if (others == 0) return;
  std::size_t shared = std::min(left, others);
  std::vector<std::pair<std::size_t, std::size_t>> remainders;  // of shared * size / others
  for (std::size_t i : by_size) {
    std::size_t product = shared * (strata[i].size - 1);
    strata[i].drawn += product / others;
    left -= product / others;
    remainders.emplace_back(product % others, i);
  }
  std::ranges::sort(remainders, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (const auto& [remainder, i] : remainders) {
    if (left == 0 || remainder == 0) return;
    ++strata[i].drawn;
    --left;
  }
}

}  // namespace

Draw draw(const std::vector<ReviewTarget>& targets, std::size_t count, std::uint64_t seed) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < targets.size(); ++i)
    groups[{targets[i].status, targets[i].source}].push_back(i);
  Draw result;
  result.seed = seed;
  for (const auto& [key, members] : groups)
    result.strata.push_back({key.first, key.second, members.size(), 0});
  allot(result.strata, std::min(count, targets.size()));
  Generator generator(seed);
  std::size_t stratum = 0;
  for (auto& [key, members] : groups) {
    // So that the order in which they came tells nothing.
    std::ranges::sort(members, {},
                      [&](std::size_t i) { return std::pair(std::string_view(targets[i].target), i); });
    generator.shuffle(members);
    auto end = members.begin() + static_cast<std::ptrdiff_t>(result.strata[stratum++].drawn);
    result.chosen.insert(result.chosen.end(), members.begin(), end);
  }
  generator.shuffle(result.chosen);
  return result;
}

}  // namespace kw::score
