#include "verify/judge/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <span>

namespace kw::verify {

namespace {

std::size_t trimmed(std::size_t samples) {
  return samples / 4;
}

// The number of deviations to each side that contain 95%.
double students_t(double degrees) {
  return boost::math::quantile(boost::math::students_t_distribution<double>(degrees), 0.975);
}

double mean(std::span<const double> samples) {
  return std::reduce(samples.begin(), samples.end()) / static_cast<double>(samples.size());
}

}  // namespace

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  std::size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

double midmean(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  std::size_t out = trimmed(samples.size());
  return mean(std::span(samples).subspan(out, samples.size() - 2 * out));
}

std::pair<double, double> midmean_interval(std::vector<double> samples) {
  if (samples.empty()) return {0, 0};
  std::ranges::sort(samples);
  const std::size_t n = samples.size();
  const std::size_t out = trimmed(n);
  const double centre = midmean(samples);
  if (n < 4) return {samples.front(), samples.back()};
  std::ranges::fill(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(out), samples[out]);
  std::ranges::fill(samples.end() - static_cast<std::ptrdiff_t>(out), samples.end(), samples[n - out - 1]);
  const double middle = mean(samples);
  double squares = 0;
  for (double each : samples) squares += (each - middle) * (each - middle);
  const double deviation = std::sqrt(squares / static_cast<double>(n - 1));
  const double kept = 1 - 2 * static_cast<double>(out) / static_cast<double>(n);
  const double half = students_t(static_cast<double>(n - 2 * out - 1)) * deviation /
                      (kept * std::sqrt(static_cast<double>(n)));
  return {centre - half, centre + half};
}

bool is_settled(const std::vector<double>& samples, std::size_t least, Precision wanted) {
  if (samples.size() < std::max<std::size_t>(least, 1)) return false;
  auto [low, high] = midmean_interval(samples);
  return (high - low) / 2 <= std::max(wanted.share * midmean(samples), wanted.ms);
}

namespace {

constexpr std::size_t most_kept_readings = 64;

}  // namespace

void ClockFloor::add(double ms) {
  latest_.push_back(ms);
  if (latest_.size() > most_kept_readings) latest_.pop_front();
}

double ClockFloor::ms() const {
  return midmean({latest_.begin(), latest_.end()});
}

std::optional<double> ClockFloor::least_ms() const {
  if (latest_.empty()) return std::nullopt;
  return std::ranges::min(latest_);
}

}  // namespace kw::verify
