#include <boost/json/array.hpp>
#include <functional>
#include <map>

#include "score/paired.h"
#include "scoring/sections.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

constexpr std::size_t most_named = 20;

json::array names_json(const std::vector<std::string>& names) {
  json::array list;
  for (std::size_t i = 0; i < names.size() && i < most_named; ++i) list.emplace_back(names[i]);
  return list;
}

json::value number_or_null(const std::optional<double>& number) {
  return number ? json::value(*number) : json::value();
}

json::object to_json(const score::Paired& paired, const char* name, const Figures& figures) {
  return {{"name", name},
          {"method", paired.method},
          {"tasks", paired.tasks},
          {"only_before", paired.only_before.size()},
          {"only_after", paired.only_after.size()},
          {"only_before_names", names_json(paired.only_before)},
          {"only_after_names", names_json(paired.only_after)},
          {"gained", paired.gained},
          {"lost", paired.lost},
          {"before", number_or_null(paired.before)},
          {"after", number_or_null(paired.after)},
          {"difference", scoring::to_json(paired.difference, figures.bootstrap.confidence)},
          {"p_value", number_or_null(paired.p_value)},
          {"smallest_p", paired.smallest_p},
          {"enough", paired.enough},
          {"significant", paired.significant},
          {"words", paired.words}};
}

using Figure = std::function<std::optional<double>(const Record&)>;

// One value an item: the mean of its outputs' values.
std::vector<score::TaskValue> values_of(const std::vector<Record>& records, const Figure& figure) {
  std::map<std::string, std::pair<double, double>> sums;
  for (const Record& record : records) {
    if (!record.is_scored) continue;
    auto value = figure(record);
    if (!value) continue;
    sums[record.item].first += *value;
    sums[record.item].second += 1;
  }
  std::vector<score::TaskValue> values;
  for (const auto& [item, sum] : sums) values.push_back({item, sum.first / sum.second});
  return values;
}

}  // namespace

json::object paired_section(const std::vector<Record>& before, const std::vector<Record>& after,
                            const Figures& figures) {
  json::array measures;
  auto tasks_before = score::by_task(outcomes_of(before));
  auto tasks_after = score::by_task(outcomes_of(after));
  if (!tasks_before.empty() && !tasks_after.empty())
    measures.push_back(
        to_json(score::compare_right(tasks_before, tasks_after, figures.bootstrap), "right", figures));
  auto compare = [&](const char* name, const std::vector<score::TaskValue>& one,
                     const std::vector<score::TaskValue>& other) {
    if (one.empty() || other.empty()) return;
    measures.push_back(to_json(score::compare_values(one, other, figures.bootstrap), name, figures));
  };
  auto compare_figure = [&](const char* name, const Figure& figure) {
    compare(name, values_of(before, figure), values_of(after, figure));
  };
  compare("log_speedup", score::log_speedups(tasks_before), score::log_speedups(tasks_after));
  compare_figure("bleu",
                 [](const Record& record) { return record.overlap ? record.overlap->bleu : std::nullopt; });
  compare_figure("exact_tokens", [](const Record& record) {
    return record.overlap ? std::optional(record.overlap->exact_tokens ? 1.0 : 0.0) : std::nullopt;
  });
  compare_figure("static_good", [](const Record& record) {
    return record.idioms ? std::optional(record.idioms->is_good ? 1.0 : 0.0) : std::nullopt;
  });
  return {{"measures", std::move(measures)}};
}

}  // namespace kw::scoring
