// How sure a figure is: intervals of shares and of means over tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kw::score {

struct Interval {
  double low = 0;
  double high = 0;
};

// The normal distribution's quantile; infinite at 0 and 1.
double normal_quantile(double p);

// Of a share, hits out of `of`: Wilson 1927, "Probable inference, the law of succession, and statistical
// inference", JASA 22. Nothing for `of` 0 or more hits than that.
//   centre = (s + z²/2n) / (1 + z²/n),  half = z / (1 + z²/n) · sqrt(s(1-s)/n + z²/4n²)
std::optional<Interval> wilson(std::size_t hits, std::size_t of, double confidence = 0.95);

struct Bootstrap {
  std::size_t resamples = 10'000;
  std::uint64_t seed = 42;
  double confidence = 0.95;
};

// A figure with its interval. `method` says where the interval is from: "Wilson", "cluster bootstrap", or ""
// where there is none; `why` then says why, and may hold a warning otherwise.
struct Estimate {
  std::optional<double> value;  // nothing: there is nothing to take the mean of
  std::optional<Interval> interval;
  std::string method;
  std::string why;
  std::size_t tasks = 0;
};

// hits / of with Wilson's interval.
Estimate share(std::size_t hits, std::size_t of, double confidence = 0.95);

// The mean of one value a task. The samples of a task resemble each other, so whole tasks are drawn with
// replacement, and the interval is between percentiles of the resampled means (Efron and Tibshirani 1993, An
// Introduction to the Bootstrap, chapter 13; tasks as clusters: Davison and Hinkley 1997, section 3.8). There
// is none where all values are alike, since the bootstrap could only repeat them. Under 10 tasks the interval
// is too narrow, and `why` says so. The same seed gives the same interval on every machine. A value that is
// not finite makes an estimate without value.
Estimate bootstrap_mean(const std::vector<double>& values, const Bootstrap& bootstrap = {});

// The same of values between 0 and 1, such as the pass@k of each task: where every one of them is 0 or 1 the
// mean is a share, and Wilson's interval is taken, which says something even where all are alike.
Estimate mean_over_tasks(const std::vector<double>& values, const Bootstrap& bootstrap = {});

// exp of the mean of logarithms, the interval likewise; values must be over 0.
Estimate geometric_mean_over_tasks(const std::vector<double>& values, const Bootstrap& bootstrap = {});

}  // namespace kw::score
