// The metrics of a result, each a part of its JSON: docs/score.md defines them.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <span>
#include <string>
#include <vector>

#include "score/metrics/intervals.h"
#include "score/report/output.h"

namespace kw::scoring {

struct Figures {
  std::vector<std::size_t> k = {1};  // of pass@k
  std::vector<double> p;             // of fast_p; empty: the usual ones
  score::Bootstrap bootstrap;
};

// {"value", "low", "high", "confidence", "method", "why", "tasks"}; value and limits are null if they do not
// exist.
boost::json::object to_json(const score::Estimate& estimate, double confidence);

// Of records with verdicts: pass@k, fast_p, speed-up, error classes, tasks that do not count, omitted
// records. Null if there are none.
boost::json::value verdict_section(const std::vector<ScoredAnswer>& records, const Figures& figures);

// Shares of outputs with each static property. Null if no output has a syntax tree.
boost::json::value static_section(const std::vector<ScoredAnswer>& records, const Figures& figures);

// Overlap with references, with items as clusters. Null if no output has one.
boost::json::value overlap_section(std::span<const Output> outputs, const Figures& figures);

// Null if nothing was compiled.
boost::json::value compile_section(const std::vector<ScoredAnswer>& records, std::size_t asked,
                                   const Figures& figures);

// Comparison with the baseline on common items: right, speed, overlap, static checks.
boost::json::object paired_section(const std::vector<ScoredAnswer>& before,
                                   const std::vector<ScoredAnswer>& after, const Figures& figures);

}  // namespace kw::scoring
