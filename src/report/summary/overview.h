// Overview: the field `summary` of a report: the figures over all rows, their claims, and the comparisons of
// sources.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <vector>

#include "report/summary/claims.h"
#include "report/summary/summary.h"

namespace kw::report {

struct Overview {
  Summary summary;
  std::vector<Claim> claims;
  boost::json::array comparisons;
};

Overview overview_of(const Index& index);

boost::json::object to_json(const Overview& overview);

}  // namespace kw::report
