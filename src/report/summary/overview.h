// Overview: the field `summary` of a report: the figures over all rows, those of each source with their
// claims, and the comparisons of sources.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "report/summary/claims.h"
#include "report/summary/summary.h"

namespace kw::report {

struct SourceSummary {
  std::size_t source = 0;  // index in Index::sources
  Summary summary;
};

struct Overview {
  Summary summary;
  // Of several sources with judged rows, the figures of each, of at most 16: figures over all rows are pooled
  // then, and no claim is made of them. Otherwise empty.
  std::vector<SourceSummary> by_source;
  std::size_t judged_sources = 0;
  std::vector<Claim> claims;
  boost::json::array comparisons;

  bool is_pooled() const { return judged_sources > 1; }
};

Overview overview_of(const Index& index);

// "pooled over 2 sources"; empty where the figures are those of one source.
std::string pooled_words(const Overview& overview);

boost::json::object to_json(const Overview& overview);

}  // namespace kw::report
