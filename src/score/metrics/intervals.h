// Confidence intervals of shares and of means over tasks, and the random generator for resampling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kw::score {

// xoshiro256** 1.0 (Blackman and Vigna 2018), its state filled by SplitMix64 from the seed. Not for secrets.
class Generator {
 public:
  explicit Generator(std::uint64_t seed);

  std::uint64_t next();

  // Each of 0 … count-1 equally often (numbers beyond the last whole multiple are drawn again); count > 0.
  std::uint64_t below(std::uint64_t count);

  // Fisher and Yates.
  template <typename Sequence>
  void shuffle(Sequence& sequence) {
    for (std::size_t left = sequence.size(); left > 1; --left)
      std::swap(sequence[left - 1], sequence[static_cast<std::size_t>(below(left))]);
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

// Confidence intervals of shares and of means over tasks.
struct Interval {
  double low = 0;
  double high = 0;
};

// The normal distribution's quantile; infinite at 0 and 1.
double normal_quantile(double p);

// Of a share, hits out of `of`: Wilson 1927, "Probable inference, the law of succession, and statistical
// inference", JASA 22. Empty if `of` is 0 or `hits` is larger.
//   centre = (s + z²/2n) / (1 + z²/n),  half = z / (1 + z²/n) · sqrt(s(1-s)/n + z²/4n²)
std::optional<Interval> wilson(std::size_t hits, std::size_t of, double confidence = 0.95);

struct Bootstrap {
  std::size_t resamples = 10'000;
  std::uint64_t seed = 42;
  double confidence = 0.95;
};

// An estimate with its interval. `method` is "Wilson", "cluster bootstrap", or "" for no interval; `why`
// then has the reason, and otherwise may have a warning.
struct Estimate {
  std::optional<double> value;  // empty: there are no values
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
// is no interval if all values are equal, since the bootstrap could only repeat them. Under 10 tasks the
// interval is too narrow, and `why` says so. The same seed gives the same interval on every machine. A value
// that is not finite makes an estimate without value.
Estimate bootstrap_mean(const std::vector<double>& values, const Bootstrap& bootstrap = {});

// The same for values between 0 and 1, such as the pass@k of each task: if every value is 0 or 1, the mean
// is a share and gets Wilson's interval, which is meaningful even if all are equal.
Estimate mean_over_tasks(const std::vector<double>& values, const Bootstrap& bootstrap = {});

// exp of the mean of the logarithms, with the interval likewise; values must be over 0.
Estimate geometric_mean_over_tasks(const std::vector<double>& values, const Bootstrap& bootstrap = {});

}  // namespace kw::score
