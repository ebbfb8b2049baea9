#include "report/summary/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "report/summary/compare.h"

namespace kw::report {
namespace json = boost::json;
namespace {

constexpr std::size_t most_sources = 16;

}  // namespace

Overview overview_of(const Index& index) {
  Overview overview;
  overview.summary = summarise(index);
  overview.comparisons = comparisons_json(index);
  std::vector<std::size_t> judged = judged_sources(index);
  overview.judged_sources = judged.size();
  if (!overview.is_pooled()) {
    overview.claims = claims_of(index, overview.summary);
    return overview;
  }
  for (std::size_t source : judged) {
    if (overview.by_source.size() == most_sources) break;
    WantedRow wanted = of_source(index, source);
    const Summary& summary = overview.by_source.emplace_back(source, summarise(index, wanted)).summary;
    std::ranges::move(claims_of(index, summary, wanted, source), std::back_inserter(overview.claims));
  }
  return overview;
}

std::string pooled_words(const Overview& overview) {
  return overview.is_pooled() ? fmt::format("pooled over {} sources", overview.judged_sources) : "";
}

json::object to_json(const Overview& overview) {
  json::object object = to_json(overview.summary);
  json::array by_source;
  for (const SourceSummary& each : overview.by_source) {
    json::object figures = to_json(each.summary);
    figures["source"] = each.source;
    by_source.push_back(std::move(figures));
  }
  object["judged_sources"] = overview.judged_sources;
  object["by_source"] = std::move(by_source);
  object["comparisons"] = overview.comparisons;
  object["claims"] = to_json(overview.claims);
  return object;
}

}  // namespace kw::report
