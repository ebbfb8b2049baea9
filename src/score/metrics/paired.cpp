#include "score/metrics/paired.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "score/metrics/intervals.h"
#include "score/metrics/never_throws.h"

namespace kw::score {
namespace {

constexpr std::size_t most_flipped_exactly = 16;
// Sums in different order differ by rounding errors; a flip within this tolerance counts as equally extreme.
constexpr double rounding = 1e-12;

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum;
}

double all_flips_p(const std::vector<double>& differences, double seen) {
  std::size_t flips = std::size_t{1} << differences.size();
  std::size_t as_extreme = 0;
  for (std::size_t flip = 0; flip < flips; ++flip) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i)
      sum += (flip >> i & 1) != 0 ? -differences[i] : differences[i];
    if (std::abs(sum) >= seen) ++as_extreme;
  }
  return static_cast<double>(as_extreme) / static_cast<double>(flips);
}

double random_flips_p(const std::vector<double>& differences, double seen, const Bootstrap& bootstrap) {
  Generator generator(bootstrap.seed);
  std::size_t as_extreme = 0;
  for (std::size_t round = 0; round < bootstrap.resamples; ++round) {
    double sum = 0;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      if (i % 64 == 0) bits = generator.next();
      sum += (bits >> i % 64 & 1) != 0 ? -differences[i] : differences[i];
    }
    if (std::abs(sum) >= seen) ++as_extreme;
  }
  return static_cast<double>(as_extreme + 1) / static_cast<double>(bootstrap.resamples + 1);
}

// One value per task on each side.
struct Pairs {
  std::vector<double> before;
  std::vector<double> after;
  std::vector<double> differences;
};

using Values = std::map<std::string, double, std::less<>>;

Pairs paired_up(const Values& before, const Values& after, Paired& result) {
  Pairs pairs;
  for (const auto& [id, value] : before) {
    auto other = after.find(id);
    if (other == after.end()) {
      result.only_before.push_back(id);
      continue;
    }
    pairs.before.push_back(value);
    pairs.after.push_back(other->second);
    pairs.differences.push_back(other->second - value);
  }
  for (const auto& [id, value] : after)
    if (!before.contains(id)) result.only_after.push_back(id);
  return pairs;
}

void count_tasks(const Pairs& pairs, Paired& result) {
  result.tasks = pairs.differences.size();
  if (result.tasks == 0) return;
  auto tasks = static_cast<double>(result.tasks);
  result.before = sum_of(pairs.before) / tasks;
  result.after = sum_of(pairs.after) / tasks;
  for (double difference : pairs.differences) {
    if (difference > 0) ++result.gained;
    if (difference < 0) ++result.lost;
  }
}

// All 2^d sign patterns of d differing tasks are equally likely; the two most extreme give the smallest p.
double smallest_p(std::size_t differing) {
  return differing == 0 ? 1 : std::ldexp(2.0, -static_cast<int>(std::min<std::size_t>(differing, 1000)));
}

std::string p_words(double p) {
  return p < 0.001 ? "p < 0.001" : fmt::format("p = {:.3f}", p);
}

std::string words(const Paired& result, double alpha) {
  if (result.tasks == 0) return "No task was judged on both sides: there is nothing to compare.";
  std::size_t differing = result.gained + result.lost;
  if (!result.enough)
    return fmt::format("Too few differing tasks for a test: {} of {}, so p is at least {:.3f}.", differing,
                       result.tasks, result.smallest_p);
  std::string counts = fmt::format("{} of {} tasks better, {} worse, {}", result.gained, result.tasks,
                                   result.lost, p_words(*result.p_value));
  if (!result.significant) return fmt::format("No difference is shown: {} (over {}).", counts, alpha);
  return fmt::format("{}: {}.", *result.difference.value > 0 ? "Better after" : "Worse after", counts);
}

void conclude(Paired& result, const Bootstrap& bootstrap) {
  double alpha = std::round((1 - bootstrap.confidence) * 1e9) / 1e9;
  result.smallest_p = smallest_p(result.gained + result.lost);
  result.enough = result.smallest_p < alpha;
  result.significant = result.enough && result.p_value && *result.p_value < alpha;
  result.words = words(result, alpha);
}

void permute(const Pairs& pairs, const Bootstrap& bootstrap, Paired& result) {
  result.method = "sign-flip permutation";
  result.difference = bootstrap_mean(pairs.differences, bootstrap);
  if (result.tasks > 0) result.p_value = sign_flip_p(pairs.differences, bootstrap);
}

void mcnemar(const Pairs& pairs, const Bootstrap& bootstrap, Paired& result) {
  result.method = "exact McNemar";
  PairedCounts counts;
  for (std::size_t i = 0; i < pairs.before.size(); ++i) {
    bool before = pairs.before[i] == 1;
    bool after = pairs.after[i] == 1;
    ++(before ? (after ? counts.both : counts.lost) : (after ? counts.gained : counts.neither));
  }
  result.difference.tasks = result.tasks;
  result.difference.interval = newcombe(counts, bootstrap.confidence);
  if (result.tasks == 0) {
    result.difference.why = "there is nothing to compare";
    return;
  }
  result.difference.value = *result.after - *result.before;
  result.difference.method = "Newcombe";
  result.p_value = mcnemar_p(counts.gained, counts.lost);
}

Values right_shares(const std::vector<TaskSamples>& tasks, bool& one_sample) {
  Values shares;
  for (const TaskSamples& task : tasks) {
    if (task.samples == 0) continue;
    if (task.samples > 1) one_sample = false;
    shares.emplace(task.task_id, static_cast<double>(task.right) / static_cast<double>(task.samples));
  }
  return shares;
}

Values finite(const std::vector<TaskValue>& values) {
  Values kept;
  for (const TaskValue& one : values)
    if (std::isfinite(one.value)) kept.emplace(one.task_id, one.value);
  return kept;
}

}  // namespace

double mcnemar_p(std::size_t gained, std::size_t lost) {
  std::size_t n = gained + lost;
  if (n == 0) return 1;
  boost::math::binomial_distribution<double, NeverThrows> either_way(static_cast<double>(n), 0.5);
  return std::min(1.0, 2 * boost::math::cdf(either_way, static_cast<double>(std::min(gained, lost))));
}

std::optional<Interval> newcombe(const PairedCounts& counts, double confidence) {
  std::size_t n = counts.both + counts.lost + counts.gained + counts.neither;
  auto before = wilson(counts.both + counts.lost, n, confidence);
  auto after = wilson(counts.both + counts.gained, n, confidence);
  if (!before || !after) return {};
  double all = static_cast<double>(n);
  double p_before = static_cast<double>(counts.both + counts.lost) / all;
  double p_after = static_cast<double>(counts.both + counts.gained) / all;
  double agree = static_cast<double>(counts.both) * static_cast<double>(counts.neither);
  double differ = static_cast<double>(counts.lost) * static_cast<double>(counts.gained);
  double margins = std::sqrt(p_before * (1 - p_before) * p_after * (1 - p_after)) * all * all;
  double above = agree - differ;
  if (above > 0) above = std::max(above - all / 2, 0.0);
  double phi = margins > 0 ? above / margins : 0;
  auto root = [phi](double a, double b) { return std::sqrt(std::max(0.0, a * a - 2 * phi * a * b + b * b)); };
  double difference = p_after - p_before;
  return Interval{std::max(-1.0, difference - root(p_after - after->low, before->high - p_before)),
                  std::min(1.0, difference + root(after->high - p_after, p_before - before->low))};
}

double sign_flip_p(const std::vector<double>& differences, const Bootstrap& bootstrap) {
  std::vector<double> differing;
  double size = 0;
  for (double difference : differences) {
    if (difference != 0) differing.push_back(difference);
    size += std::abs(difference);
  }
  if (differing.empty()) return 1;
  double seen = std::abs(sum_of(differing)) - rounding * size;
  return differing.size() <= most_flipped_exactly ? all_flips_p(differing, seen)
                                                  : random_flips_p(differing, seen, bootstrap);
}

Paired compare_right(const std::vector<TaskSamples>& before, const std::vector<TaskSamples>& after,
                     const Bootstrap& bootstrap) {
  Paired result;
  bool one_sample = true;
  Values shares_before = right_shares(before, one_sample);
  Values shares_after = right_shares(after, one_sample);
  Pairs pairs = paired_up(shares_before, shares_after, result);
  count_tasks(pairs, result);
  if (one_sample)
    mcnemar(pairs, bootstrap, result);
  else
    permute(pairs, bootstrap, result);
  conclude(result, bootstrap);
  return result;
}

Paired compare_values(const std::vector<TaskValue>& before, const std::vector<TaskValue>& after,
                      const Bootstrap& bootstrap) {
  Paired result;
  Pairs pairs = paired_up(finite(before), finite(after), result);
  count_tasks(pairs, result);
  permute(pairs, bootstrap, result);
  conclude(result, bootstrap);
  return result;
}

std::vector<TaskValue> log_speedups(const std::vector<TaskSamples>& tasks) {
  std::vector<TaskValue> values;
  for (const TaskSamples& task : tasks) {
    if (task.speedups.empty()) continue;
    double sum = 0;
    for (double speedup : task.speedups) sum += std::log(speedup);
    values.push_back({task.task_id, sum / static_cast<double>(task.speedups.size())});
  }
  return values;
}

namespace {

// Landis and Koch 1977, "The measurement of observer agreement for categorical data", Biometrics 33.
std::string_view strength(double kappa) {
  constexpr std::array<std::pair<double, std::string_view>, 5> steps = {
      {{0.8, "almost perfect"}, {0.6, "substantial"}, {0.4, "moderate"}, {0.2, "fair"}, {0, "slight"}}};
  for (const auto& [over, word] : steps)
    if (kappa > over) return word;
  return "none beyond chance";
}

}  // namespace

Agreement agreement(const std::vector<Judged>& judged, double confidence) {
  Agreement result;
  for (const Judged& one : judged)
    ++(one.automatic ? (one.person ? result.both_good : result.only_automatic)
                     : (one.person ? result.only_person : result.both_bad));
  std::size_t n = judged.size();
  result.raw = share(result.both_good + result.both_bad, n, confidence);
  if (n == 0) {
    result.kappa_words = "undefined: no answer was judged by both";
    return result;
  }
  double all = static_cast<double>(n);
  double automatic = static_cast<double>(result.both_good + result.only_automatic) / all;
  double person = static_cast<double>(result.both_good + result.only_person) / all;
  result.expected = automatic * person + (1 - automatic) * (1 - person);
  // Exact comparison of counts: both gave the same judgement every time.
  if (result.both_good == n || result.both_bad == n) {
    result.kappa_words =
        "undefined: both gave one and the same judgement throughout, which chance would do as well; draw "
        "answers of "
        "both kinds";
    return result;
  }
  result.kappa = (*result.raw.value - result.expected) / (1 - result.expected);
  result.kappa_words = fmt::format("agreement beyond chance: {}", strength(*result.kappa));
  return result;
}

}  // namespace kw::score
