#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace kw::verify {

double median(std::vector<double> samples);

// A 95% interval of the median by order statistics (binomial, normal approximation), which assumes nothing of
// how the samples are distributed.
std::pair<double, double> median_interval(std::vector<double> samples);

// Whether enough samples agree: at least `least`, and the median's interval within 1% of it, or within two ticks of
// a device's events, which are 32 ns apart.
bool is_settled(const std::vector<double>& samples, std::size_t least = 40);

}  // namespace kw::verify
