// Paired comparisons: two sets of answers to the same tasks, and checks against human reviewers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "score/metrics/intervals.h"
#include "score/metrics/measures.h"

namespace kw::score {

// Exact McNemar (McNemar 1947; exact by the binomial distribution, as Fagerland, Lydersen and Laake 2013,
// "The McNemar test for binary matched-pairs data", give it): two-sided p of `gained` and `lost` out of their
// sum at one half. 1 if nothing differs.
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
// 2010). 1 if nothing differs.
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
  // The smallest p that this number of differing tasks can give. Above 1 - confidence, no result can be
  // significant.
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

// For any metric with one value per task: overlap, the logarithm of a speed-up. By sign-flip permutation.
// Omits values that are not finite; of several values of one task, uses the first.
Paired compare_values(const std::vector<TaskValue>& before, const std::vector<TaskValue>& after,
                      const Bootstrap& bootstrap = {});

// Logarithms of the geometric mean speed-up of tasks that have one: exp of the difference is the ratio of
// speeds on tasks that both sides have right.
std::vector<TaskValue> log_speedups(const std::vector<TaskSamples>& tasks);

// Agreement between the automatic checks and human reviewers.
struct Judged {
  bool automatic = false;  // good by the checks
  bool person = false;     // the person's label is favourable
};

struct Agreement {
  std::size_t both_good = 0;
  std::size_t only_automatic = 0;  // good only by the checks
  std::size_t only_person = 0;
  std::size_t both_bad = 0;
  Estimate raw;                 // share of equal judgements, Wilson's interval
  double expected = 0;          // the share that two judges with these habits reach by chance
  std::optional<double> kappa;  // (raw - expected) / (1 - expected): Cohen 1960, "A coefficient of agreement
                                // for nominal scales", Educational and Psychological Measurement 20
  std::string kappa_words;      // the meaning of kappa, or why there is none
};

// For one reviewer; labels of several reviewers for one target are separate agreements.
Agreement agreement(const std::vector<Judged>& judged, double confidence = 0.95);

}  // namespace kw::score
