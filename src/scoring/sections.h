// The figures of a result, each a part of its JSON: docs/score.md says what they mean.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <span>
#include <string>
#include <vector>

#include "score/intervals.h"
#include "scoring/output.h"
#include "scoring/record.h"

namespace kw::scoring {

struct Figures {
  std::vector<std::size_t> k = {1};  // of pass@k
  std::vector<double> p;             // of fast_p; empty: the usual ones
  score::Bootstrap bootstrap;
};

// {"value", "low", "high", "confidence", "method", "why", "tasks"}; value and limits null where there are
// none.
boost::json::object to_json(const score::Estimate& estimate, double confidence);

// Of records with verdicts: pass@k, fast_p, speed-up, classes of errors, what proves nothing, what is left
// out. Null where there are none.
boost::json::value verdict_section(const std::vector<Record>& records, const Figures& figures);

// Shares of outputs with each property of the syntax tree. Null where none has a syntax tree.
boost::json::value static_section(const std::vector<Record>& records, const Figures& figures);

// Likeness to references, items as clusters. Null where no output has one.
boost::json::value overlap_section(std::span<const Output> outputs, const Figures& figures);

// Null where nothing was compiled.
boost::json::value compile_section(const std::vector<Record>& records, std::size_t asked,
                                   const Figures& figures);

// Before and after on the items that both have: right, speed, likeness, static checks.
boost::json::object paired_section(const std::vector<Record>& before, const std::vector<Record>& after,
                                   const Figures& figures);

}  // namespace kw::scoring
