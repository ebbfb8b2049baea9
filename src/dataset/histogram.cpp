#include <algorithm>
#include <bit>
#include <cmath>

#include "dataset/facts.h"

namespace kw::dataset {

void Histogram::add(std::uint64_t value) {
  std::size_t bucket = value == 0 ? 0 : static_cast<std::size_t>(std::bit_width(value)) - 1;
  if (buckets.size() <= bucket) buckets.resize(bucket + 1);
  ++buckets[bucket];
  least = count == 0 ? value : std::min(least, value);
  most = std::max(most, value);
  ++count;
  sum += value;
}

std::uint64_t Histogram::quantile(double share) const {
  if (count == 0) return 0;
  auto rank = static_cast<std::uint64_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count)));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    below += buckets[i];
    if (below >= std::max<std::uint64_t>(rank, 1)) return i == 0 ? 0 : std::uint64_t{1} << i;
  }
  return std::uint64_t{1} << (buckets.size() - 1);
}

}  // namespace kw::dataset
