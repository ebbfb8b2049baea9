#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace kw::verify {

double median(std::vector<double> samples);

// A 95% interval of the median by order statistics (binomial, normal approximation), which assumes nothing of
// how the samples are distributed.
std::pair<double, double> median_interval(std::vector<double> samples);

// Whether enough samples agree: at least `least`, and the median's interval within `share` of it to both
// sides, or within what one sample can be off for reasons of the instrument: the device's events and its gate
// are read every 0.2 us or so.
bool is_settled(const std::vector<double>& samples, std::size_t least = 40, double share = 0.01);

}  // namespace kw::verify
