#include <algorithm>

#include "near/near.h"
#include "near/shingles.h"

namespace kw::near {
namespace {

void sort_once_each(std::vector<std::uint64_t>& hashes) {
  std::ranges::sort(hashes);
  auto repeated = std::ranges::unique(hashes);
  hashes.erase(repeated.begin(), repeated.end());
}

}  // namespace

std::vector<std::uint64_t> shingle_set(std::string_view text, const Parameters& parameters) {
  std::vector<std::uint64_t> set;
  // A long text that says one thing over and over must not take memory for each time.
  std::size_t limit = std::size_t{1} << 20;
  Shingles shingles(text, parameters);
  for (auto block = shingles.next(); !block.empty(); block = shingles.next()) {
    set.insert(set.end(), block.begin(), block.end());
    if (set.size() < limit) continue;
    sort_once_each(set);
    limit = std::max(limit, 2 * set.size());
  }
  sort_once_each(set);
  return set;
}

double jaccard(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  if (a.empty() && b.empty()) return 1;
  std::size_t common = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  // Which of the two is less cannot be predicted, so both step without a branch.
  while (i < a.size() && j < b.size()) {
    std::uint64_t x = a[i];
    std::uint64_t y = b[j];
    common += x == y;
    i += x <= y;
    j += y <= x;
  }
  return static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

}  // namespace kw::near
