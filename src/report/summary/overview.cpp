#include "report/summary/overview.h"

#include <utility>

#include "report/summary/compare.h"

namespace kw::report {

Overview overview_of(const Index& index) {
  Summary summary = summarise(index);
  std::vector<Claim> claims = claims_of(index, summary);
  return {std::move(summary), std::move(claims), comparisons_json(index)};
}

boost::json::object to_json(const Overview& overview) {
  boost::json::object object = to_json(overview.summary);
  object["comparisons"] = overview.comparisons;
  object["claims"] = to_json(overview.claims);
  return object;
}

}  // namespace kw::report
