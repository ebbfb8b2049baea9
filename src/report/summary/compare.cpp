#include "report/summary/compare.h"

#include <algorithm>
#include <map>
#include <set>

#include "score/report/output.h"
#include "score/report/sections.h"

namespace kw::report {
namespace json = boost::json;
namespace {

using score::Standing;

constexpr std::size_t most_comparisons = 16;
constexpr std::size_t most_flipped = 1000;

std::vector<scoring::ScoredAnswer> records_of(const Index& index, std::size_t source) {
  std::vector<scoring::ScoredAnswer> records;
  for (score::Outcome& outcome : outcomes_of(index, of_source(index, source))) {
    scoring::ScoredAnswer& record = records.emplace_back();
    record.item = std::move(outcome.task_id);
    record.verdict.by = scoring::JudgedBy::recorded;
    record.verdict.standing = outcome.standing;
    record.verdict.speedup = outcome.speedup;
  }
  return records;
}

struct TaskRows {
  std::size_t first = 0;
  std::size_t judged = 0;
  std::size_t right = 0;

  double share() const { return static_cast<double>(right) / static_cast<double>(judged); }
};

std::map<std::string, TaskRows> tasks_of(const Index& index, std::size_t source) {
  const Rows& rows = index.rows;
  std::map<std::string, TaskRows> tasks;
  auto wanted = of_source(index, source);
  for (std::size_t row = 0; row < rows.count; ++row) {
    if (!is_sample(rows, row, wanted)) continue;
    Standing standing = standing_of(rows, row);
    if (standing == Standing::unknown) continue;
    auto [task, is_new] = tasks.try_emplace(task_of(rows, row));
    if (is_new) task->second.first = row;
    ++task->second.judged;
    task->second.right += standing == Standing::right;
  }
  return tasks;
}

json::value fact(const json::object& facts, std::string_view name) {
  const json::value* value = facts.if_contains(name);
  return value ? *value : json::value();
}

// A time at which a run began is no setting: it always differs.
bool is_moment(std::string_view name) {
  return name == "created_at";
}

json::array differing_settings(const SourceFacts& before, const SourceFacts& after) {
  std::set<std::string> names;
  for (const json::object* facts : {&before.facts, &after.facts})
    for (const auto& member : *facts) names.emplace(member.key());
  json::array settings;
  for (const std::string& name : names)
    if (json::value a = fact(before.facts, name), b = fact(after.facts, name); a != b && !is_moment(name))
      settings.push_back(json::object{{"name", name}, {"before", a}, {"after", b}});
  return settings;
}

}  // namespace

WantedRow of_source(const Index& index, std::size_t source) {
  return [&index, source](std::size_t row) {
    return index.rows.source[row] == static_cast<std::int64_t>(source);
  };
}

std::vector<std::size_t> judged_sources(const Index& index) {
  const Rows& rows = index.rows;
  std::set<std::size_t> judged;
  for (std::size_t row = 0; row < rows.count; ++row) {
    auto source = static_cast<std::size_t>(rows.source[row].value_or(-1));
    if (source < index.sources.size() && is_sample(rows, row, {}) &&
        standing_of(rows, row) != Standing::unknown)
      judged.insert(source);
  }
  return {judged.begin(), judged.end()};
}

std::vector<Flip> flipped_tasks(const Index& index, std::size_t before, std::size_t after) {
  auto tasks_before = tasks_of(index, before);
  std::vector<Flip> flips;
  for (const auto& [task, now] : tasks_of(index, after)) {
    auto then = tasks_before.find(task);
    if (then == tasks_before.end() || then->second.share() == now.share()) continue;
    flips.push_back({task, then->second.first, now.first, then->second.share(), now.share()});
  }
  std::ranges::sort(flips, {}, [](const Flip& flip) {
    return std::pair(flip.right_after > flip.right_before, std::string_view(flip.task_id));
  });
  return flips;
}

json::object comparison_json(const Index& index, std::size_t before, std::size_t after) {
  json::object object{{"before", before}, {"after", after}};
  json::object paired = scoring::paired_section(records_of(index, before), records_of(index, after), {});
  object["measures"] = paired["measures"];
  object["settings"] = differing_settings(index.sources[before], index.sources[after]);
  std::vector<Flip> flips = flipped_tasks(index, before, after);
  object["flipped_count"] = flips.size();
  flips.resize(std::min(flips.size(), most_flipped));
  json::array flipped;
  for (const Flip& flip : flips)
    flipped.push_back(json::object{{"task_id", flip.task_id},
                                   {"before", flip.before},
                                   {"after", flip.after},
                                   {"right_before", flip.right_before},
                                   {"right_after", flip.right_after}});
  object["flipped"] = std::move(flipped);
  return object;
}

json::array comparisons_json(const Index& index) {
  std::vector<std::size_t> judged = judged_sources(index);
  json::array comparisons;
  for (std::size_t i = 1; i < judged.size() && comparisons.size() < most_comparisons; ++i)
    comparisons.push_back(comparison_json(index, judged.front(), judged[i]));
  return comparisons;
}

}  // namespace kw::report
