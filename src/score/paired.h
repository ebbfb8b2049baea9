// Before and after on the same tasks: by how much they differ, and whether that may be chance.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "score/intervals.h"
#include "score/outcomes.h"

namespace kw::score {

// Exact McNemar (McNemar 1947; exact by the binomial distribution, as Fagerland, Lydersen and Laake 2013,
// "The McNemar test for binary matched-pairs data", give it): two-sided p of `gained` and `lost` out of their
// sum at one half. 1 where nothing differs.
double mcnemar_p(std::size_t gained, std::size_t lost);

// The difference of paired shares: Newcombe 1998, "Improved confidence intervals for the difference between
// binomial proportions based on paired data", Statistics in Medicine 17, method 10 (Wilson's limits squared
// and added, with the corrected phi). Both: right before and after; lost: only before; gained: only after.
struct PairedCounts {
  std::size_t both = 0;
  std::size_t lost = 0;
  std::size_t gained = 0;
  std::size_t neither = 0;
};
std::optional<Interval> newcombe(const PairedCounts& counts, double confidence = 0.95);

// Two-sided p of the mean of paired differences when their signs are flipped at random (Fisher 1935; Good
// 2005, Permutation, Parametric and Bootstrap Tests of Hypotheses, chapter 3): all flips of up to 16
// differences that are not 0, else (1 + as extreme) / (1 + resamples) over random flips (Phipson and Smyth
// 2010). 1 where nothing differs.
double sign_flip_p(const std::vector<double>& differences, const Bootstrap& bootstrap = {});

struct Paired {
  std::string method;     // "exact McNemar" (one sample a task on both sides), "sign-flip permutation"
  std::size_t tasks = 0;  // with judged samples on both sides: only these are compared
  std::vector<std::string> only_before;
  std::vector<std::string> only_after;
  std::size_t gained = 0;  // tasks better after
  std::size_t lost = 0;    // tasks worse after
  std::optional<double> before;
  std::optional<double> after;
  Estimate difference;  // after - before
  std::optional<double> p_value;
  // The smallest p that so many differing tasks could give. Over 1 - confidence: too few to tell anything,
  // however they had come out.
  double smallest_p = 1;
  bool enough = false;
  bool significant = false;  // p under 1 - confidence
  std::string words;         // one sentence for people
};

// pass@1 of the same tasks.
Paired compare_right(const std::vector<TaskSamples>& before, const std::vector<TaskSamples>& after,
                     const Bootstrap& bootstrap = {});

struct TaskValue {
  std::string task_id;
  double value = 0;
};

// Any figure of one value a task: overlap, the logarithm of a speed-up. By sign-flip permutation. Values that
// are not finite are left out; of several values of one task the first stands.
Paired compare_values(const std::vector<TaskValue>& before, const std::vector<TaskValue>& after,
                      const Bootstrap& bootstrap = {});

// Logarithms of the geometric mean speed-up of tasks that have one: exp of the difference is how many times
// faster "after" is on tasks that both sides have right.
std::vector<TaskValue> log_speedups(const std::vector<TaskSamples>& tasks);

}  // namespace kw::score
