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
  std::optional<std::size_t> source = {};  // of one of several sources; empty: of all rows
  std::string figure;  // "fast_0", "fast_1", "fast_1_compile", "geometric_mean_speedup", ...
  std::optional<double> value = {};
  std::optional<double> low = {};
  std::optional<double> high = {};
  std::string text = {};  // one line, without characters that control a display
};

// None where no row was judged, and none of a speed where none was measured. The line begins with
// "unfinished" where a source of the rows is, and names the source where one is given.
std::vector<Claim> claims_of(const Index& index, const Summary& summary, const WantedRow& wanted = {},
                             std::optional<std::size_t> source = {});

boost::json::array to_json(const std::vector<Claim>& claims);

}  // namespace kw::report
