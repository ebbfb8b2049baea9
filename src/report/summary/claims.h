// Claims: one line to paste below each headline figure. A claim states the circumstances that the verdicts
// hold, and nothing beyond them.
#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/summary/summary.h"

namespace kw::report {

struct Claim {
  std::string figure;  // "fast_0", "fast_1", "fast_1_compile", "geometric_mean_speedup", ...
  std::optional<double> value = {};
  std::optional<double> low = {};
  std::optional<double> high = {};
  std::string text = {};  // one line, without characters that control a display
};

// None where no row was judged.
std::vector<Claim> claims_of(const Index& index, const Summary& summary, const WantedRow& wanted = {});

boost::json::array to_json(const std::vector<Claim>& claims);

}  // namespace kw::report
