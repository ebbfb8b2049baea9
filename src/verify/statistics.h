#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace kw::verify {

double median(std::vector<double> samples);

// Mean of the middle half, a quarter left out at each end (floor(n/4) samples): as deaf to outliers as a time
// needs, and between the instrument's steps, where a median can only be on one of them.
double midmean(std::vector<double> samples);

// A 95% interval of the midmean: Student's t times the winsorised standard deviation over half the root of n
// (Tukey and McLaughlin 1963, a quarter trimmed at each end).
std::pair<double, double> midmean_interval(std::vector<double> samples);

// How well a time must be known: half of its 95% interval, as a share of it or as such, whichever is more.
struct Precision {
  double share = 0.01;
  double ms = 1.6e-5;  // half a step of an instrument that reads every 32 ns
};

inline constexpr std::size_t least_samples = 12;  // before anything is said of a time

// Whether enough samples agree: at least `least`, and the midmean's interval as narrow as wanted.
bool is_settled(const std::vector<double>& samples, std::size_t least = 40, Precision wanted = {});

}  // namespace kw::verify
