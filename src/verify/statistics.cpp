#include "verify/statistics.h"

#include <algorithm>
#include <cmath>

namespace kw::verify {

constexpr double instrument_ms = 1e-4;

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  std::size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

std::pair<double, double> median_interval(std::vector<double> samples) {
  if (samples.empty()) return {0, 0};
  std::ranges::sort(samples);
  auto n = static_cast<double>(samples.size());
  double spread = 1.96 * std::sqrt(n) / 2;
  auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - spread)));
  auto high = static_cast<std::size_t>(std::min(n - 1, std::ceil(n / 2 + spread)));
  return {samples[low], samples[high]};
}

bool is_settled(const std::vector<double>& samples, std::size_t least, double share) {
  if (samples.size() < std::max<std::size_t>(least, 1)) return false;
  auto [low, high] = median_interval(samples);
  return (high - low) / 2 <= std::max(share * median(samples), instrument_ms);
}

}  // namespace kw::verify
