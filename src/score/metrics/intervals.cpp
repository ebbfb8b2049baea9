#include "score/metrics/intervals.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "score/metrics/never_throws.h"

namespace kw::score {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace

Generator::Generator(std::uint64_t seed) : state_{} {
  for (std::uint64_t& part : state_) part = split_mix(seed);
}

std::uint64_t Generator::next() {
  std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Generator::below(std::uint64_t count) {
  // 2^64 modulo count: the number of lowest values that would bias the result.
  std::uint64_t biased = (0 - count) % count;
  std::uint64_t drawn = next();
  while (drawn < biased) drawn = next();
  return drawn % count;
}

namespace {

constexpr std::size_t few_tasks = 10;

bool is_share_of_tasks(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return value == 0 || value == 1; });
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Hyndman and Fan 1996, definition 7: interpolates linearly between the adjacent values.
double percentile(const std::vector<double>& sorted, double p) {
  double at = p * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<std::size_t>(at);
  std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Interval resampled(const std::vector<double>& values, const Bootstrap& bootstrap) {
  Generator generator(bootstrap.seed);
  std::vector<double> means(std::max<std::size_t>(bootstrap.resamples, 1));
  for (double& one : means) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += values[static_cast<std::size_t>(generator.below(values.size()))];
    one = sum / static_cast<double>(values.size());
  }
  std::ranges::sort(means);
  double outside = (1 - bootstrap.confidence) / 2;
  return {percentile(means, outside), percentile(means, 1 - outside)};
}

}  // namespace

double normal_quantile(double p) {
  return boost::math::quantile(boost::math::normal_distribution<double, NeverThrows>(), p);
}

std::optional<Interval> wilson(std::size_t hits, std::size_t of, double confidence) {
  if (of == 0 || hits > of) return {};
  double n = static_cast<double>(of);
  double s = static_cast<double>(hits) / n;
  double z = normal_quantile(0.5 + confidence / 2);
  double width = 1 + z * z / n;
  double centre = (s + z * z / (2 * n)) / width;
  double half = z / width * std::sqrt(s * (1 - s) / n + z * z / (4 * n * n));
  // The exact limits are 0 for no hits and 1 for only hits; this avoids rounding errors.
  return Interval{hits == 0 ? 0 : std::max(0.0, centre - half),
                  hits == of ? 1 : std::min(1.0, centre + half)};
}

Estimate share(std::size_t hits, std::size_t of, double confidence) {
  Estimate estimate;
  estimate.tasks = of;
  estimate.interval = wilson(hits, of, confidence);
  if (!estimate.interval) {
    estimate.why = "there is nothing to take a share of";
    return estimate;
  }
  estimate.value = static_cast<double>(hits) / static_cast<double>(of);
  estimate.method = "Wilson";
  return estimate;
}

Estimate bootstrap_mean(const std::vector<double>& values, const Bootstrap& bootstrap) {
  Estimate estimate;
  estimate.tasks = values.size();
  if (values.empty()) {
    estimate.why = "there is nothing to take the mean of";
    return estimate;
  }
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) {
    estimate.why = "a value is not finite";
    return estimate;
  }
  estimate.value = mean(values);
  if (values.size() == 1) {
    estimate.why = "one task has no interval";
  } else if (std::ranges::all_of(values, [&](double value) { return value == values.front(); })) {
    estimate.why = "all tasks have the same value, so the variation between tasks cannot be estimated";
  } else {
    estimate.interval = resampled(values, bootstrap);
    estimate.method = "cluster bootstrap";
    if (values.size() < few_tasks)
      estimate.why =
          fmt::format("with only {} tasks the interval is narrower than it should be", values.size());
  }
  return estimate;
}

Estimate mean_over_tasks(const std::vector<double>& values, const Bootstrap& bootstrap) {
  if (!is_share_of_tasks(values)) return bootstrap_mean(values, bootstrap);
  return share(static_cast<std::size_t>(std::ranges::count(values, 1.0)), values.size(),
               bootstrap.confidence);
}

Estimate geometric_mean_over_tasks(const std::vector<double>& values, const Bootstrap& bootstrap) {
  std::vector<double> logarithms;
  for (double value : values) logarithms.push_back(value > 0 ? std::log(value) : std::nan(""));
  Estimate estimate = bootstrap_mean(logarithms, bootstrap);
  if (estimate.value) estimate.value = std::exp(*estimate.value);
  if (estimate.interval)
    estimate.interval = {std::exp(estimate.interval->low), std::exp(estimate.interval->high)};
  return estimate;
}

}  // namespace kw::score
