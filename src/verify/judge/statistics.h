// Statistics of time samples, and the time that an empty measurement takes on a device.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace kw::verify {

double median(std::vector<double> samples);

// Mean of the middle half: floor(n/4) samples are left out at each end. It is robust to outliers, and can lie
// between the instrument's steps, where a median is always on one of them.
double midmean(std::vector<double> samples);

// A 95% interval of the midmean: Student's t times the winsorised standard deviation over half the root of n
// (Tukey and McLaughlin 1963, a quarter trimmed at each end).
std::pair<double, double> midmean_interval(std::vector<double> samples);

// The required precision of a time: half of its 95% interval as a share of it or in milliseconds; the greater
// one counts.
struct Precision {
  double share = 0.01;
  double ms = 1.6e-5;  // half a step of an instrument that reads every 32 ns
};

inline constexpr std::size_t least_samples = 12;  // before a time is judged

// Whether enough samples agree: at least `least`, and the midmean's interval as narrow as wanted.
bool is_settled(const std::vector<double>& samples, std::size_t least = 40, Precision wanted = {});

// The time that the events of a replay measure around no work at all. Each process reads it in steps of the
// device's clock (32 ns on an H200), some too high and some too low, while its replays are equally fast. The
// mean of many processes' readings is therefore subtracted from times.
class ClockFloor {
 public:
  void add(double ms);
  // The mean of the middle half of the latest; 0 before there are any.
  double ms() const;
  // The least of the latest; none before there are any.
  std::optional<double> least_ms() const;

 private:
  std::deque<double> latest_;
};

}  // namespace kw::verify
