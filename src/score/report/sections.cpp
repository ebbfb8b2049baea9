#include "score/report/sections.h"

#include <boost/json/array.hpp>
#include <functional>
#include <map>

#include "base/core/json.h"
#include "score/metrics/measures.h"
#include "score/metrics/paired.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

using score::Standing;
using Counts = std::map<std::string, std::size_t>;

json::object counts_json(const Counts& counts) {
  json::object object;
  for (const auto& [name, add] : counts) object[name] = add;
  return object;
}

struct Tally {
  std::size_t judged_here = 0;
  std::size_t recorded = 0;
  std::size_t right = 0;
  std::size_t wrong = 0;
  std::size_t counts_unknown = 0;
  Counts status;
  Counts error_classes;
  Counts proves_nothing;
  Counts left_out;
  Counts why_no_speed;
  Counts trust;
  Counts shapes;
};

void add(const VerdictFacts& facts, Tally& tally) {
  ++(facts.by == JudgedBy::here ? tally.judged_here : tally.recorded);
  ++tally.status[facts.status];
  if (facts.standing == Standing::unknown) {
    std::string why = facts.error_class.empty() ? facts.status : facts.error_class;
    ++tally.left_out[facts.fault.empty() ? why : facts.fault + ": " + why];
    return;
  }
  if (!facts.trust.empty()) ++tally.trust[facts.trust];
  if (!facts.shapes.empty()) ++tally.shapes[facts.shapes];
  tally.counts_unknown += facts.counts_unknown;
  if (facts.standing == Standing::right) {
    ++tally.right;
    if (!facts.speedup) ++tally.why_no_speed[facts.why_no_speed];
    return;
  }
  ++tally.wrong;
  if (!facts.error_class.empty()) ++tally.error_classes[facts.error_class];
  if (!facts.counts_reason.empty()) ++tally.proves_nothing[facts.counts_reason];
}

json::array pass_json(const std::vector<score::TaskSamples>& tasks, const Figures& figures) {
  json::array points;
  for (std::size_t k : figures.k) {
    score::PassAtK pass = score::pass_at_k(tasks, k, figures.bootstrap);
    json::object point = to_json(pass.estimate, figures.bootstrap.confidence);
    point["k"] = k;
    point["tasks_with_too_few"] = pass.too_few.size();
    points.push_back(std::move(point));
  }
  return points;
}

json::array curve_json(const score::FastCurve& curve, double confidence) {
  json::array points;
  for (const score::FastPoint& point : curve.points)
    points.push_back(json::object{{"p", point.p},
                                  {"share", to_json(point.share, confidence)},
                                  {"at_least", to_json(point.at_least, confidence)},
                                  {"at_most", to_json(point.at_most, confidence)},
                                  {"faster", point.faster},
                                  {"unknown_speeds", point.unknown_speeds}});
  return points;
}

}  // namespace

json::object to_json(const score::Estimate& estimate, double confidence) {
  json::object object{{"value", nullptr}, {"low", nullptr}, {"high", nullptr}};
  if (estimate.value) object["value"] = *estimate.value;
  if (estimate.interval) {
    object["low"] = estimate.interval->low;
    object["high"] = estimate.interval->high;
  }
  object["confidence"] = confidence;
  object["method"] = estimate.method;
  object["why"] = estimate.why;
  object["tasks"] = estimate.tasks;
  return object;
}

json::value verdict_section(const std::vector<ScoredAnswer>& records, const Figures& figures) {
  std::vector<score::Outcome> outcomes = outcomes_of(records);
  if (outcomes.empty()) return {};
  Tally tally;
  for (const ScoredAnswer& record : records)
    if (record.is_scored && record.verdict.by != JudgedBy::nobody) add(record.verdict, tally);
  std::vector<score::TaskSamples> tasks = score::by_task(outcomes);
  double confidence = figures.bootstrap.confidence;
  score::FastCurve curve =
      score::fast_p(tasks, figures.p.empty() ? score::usual_p : figures.p, figures.bootstrap);
  std::size_t measured = 0;
  for (const score::TaskSamples& task : tasks) measured += task.speedups.size();
  return json::object{{"tasks", curve.tasks},
                      {"tasks_left_out", curve.tasks_not_judged},
                      {"samples", tally.right + tally.wrong},
                      {"right", tally.right},
                      {"judged_here", tally.judged_here},
                      {"recorded", tally.recorded},
                      {"counts_unknown", tally.counts_unknown},
                      {"speeds_measured", measured},
                      {"status", counts_json(tally.status)},
                      {"error_classes", counts_json(tally.error_classes)},
                      {"proves_nothing", counts_json(tally.proves_nothing)},
                      {"left_out", counts_json(tally.left_out)},
                      {"why_no_speed", counts_json(tally.why_no_speed)},
                      {"trust", counts_json(tally.trust)},
                      {"shapes", counts_json(tally.shapes)},
                      {"pass_at_k", pass_json(tasks, figures)},
                      {"fast_p", curve_json(curve, confidence)},
                      {"geometric_mean_speedup",
                       to_json(score::geometric_mean_speedup(tasks, figures.bootstrap), confidence)}};
}

namespace json = boost::json;
namespace {

struct Property {
  const char* name;
  bool (*holds)(const StaticFacts&);
};

constexpr Property properties[] = {
    {"pass", [](const StaticFacts& facts) { return facts.state == score::CheckState::pass; }},
    {"unproven", [](const StaticFacts& facts) { return facts.state == score::CheckState::unproven; }},
    {"fail", [](const StaticFacts& facts) { return facts.state == score::CheckState::fail; }},
    {"good", [](const StaticFacts& facts) { return facts.is_good; }},
    {"parses", [](const StaticFacts& facts) { return facts.parses; }},
    {"has_jit", [](const StaticFacts& facts) { return facts.has_jit; }},
    {"is_launched", [](const StaticFacts& facts) { return facts.is_launched; }},
    {"loads", [](const StaticFacts& facts) { return facts.loads; }},
    {"masked_loads", [](const StaticFacts& facts) { return facts.masked_loads; }},
    {"stores", [](const StaticFacts& facts) { return facts.stores; }},
    {"masked_stores", [](const StaticFacts& facts) { return facts.masked_stores; }},
    {"boundary_checks", [](const StaticFacts& facts) { return facts.boundary_checks; }},
    {"constexpr_blocks", [](const StaticFacts& facts) { return facts.constexpr_blocks; }},
    {"native_code", [](const StaticFacts& facts) { return facts.native_code; }},
    {"forbidden", [](const StaticFacts& facts) { return facts.forbidden > 0; }},
    {"torch_work", [](const StaticFacts& facts) { return facts.torch_work > 0; }}};

// One value per item, the mean of its outputs' values, since samples of one task are not independent.
class ItemMeans {
 public:
  void add(const std::string& item, double value) {
    auto& [sum, all] = items_[item];
    sum += value;
    all += 1;
  }
  std::vector<double> values() const {
    std::vector<double> means;
    for (const auto& [item, sums] : items_) means.push_back(sums.first / sums.second);
    return means;
  }

 private:
  std::map<std::string, std::pair<double, double>> items_;
};

score::Estimate share_of(const std::vector<const ScoredAnswer*>& records, const Property& property,
                         const Figures& figures) {
  ItemMeans items;
  for (const ScoredAnswer* record : records) items.add(record->item, property.holds(*record->idioms) ? 1 : 0);
  return score::mean_over_tasks(items.values(), figures.bootstrap);
}

score::Estimate share_of(const std::vector<const Output*>& pairs, bool score::Overlap::* holds,
                         const Figures& figures) {
  ItemMeans items;
  for (const Output* pair : pairs) items.add(pair->record.item, (*pair->overlap).*holds ? 1 : 0);
  return score::mean_over_tasks(items.values(), figures.bootstrap);
}

score::Estimate mean_bleu(const std::vector<const Output*>& pairs, const Figures& figures) {
  ItemMeans items;
  for (const Output* pair : pairs)
    if (pair->overlap->bleu) items.add(pair->record.item, *pair->overlap->bleu);
  return score::bootstrap_mean(items.values(), figures.bootstrap);
}

// The answers by check and state.
json::object checks_json(const std::vector<const ScoredAnswer*>& records) {
  std::map<score::Check, std::map<score::CheckState, std::size_t>> counts;
  for (const ScoredAnswer* record : records)
    for (const auto& [check, state] : record->idioms->checks) ++counts[check][state];
  json::object checks;
  for (const auto& [check, states] : counts) {
    json::object& one = checks[to_string(check)].emplace_object();
    for (auto state : {score::CheckState::pass, score::CheckState::unproven, score::CheckState::fail})
      one[to_string(state)] = states.contains(state) ? states.at(state) : 0;
  }
  return checks;
}

}  // namespace

json::value static_section(const std::vector<ScoredAnswer>& records, const Figures& figures) {
  std::vector<const ScoredAnswer*> looked_at;
  std::map<std::string, std::size_t> disguises;
  for (const ScoredAnswer& record : records) {
    if (!record.is_scored || !record.idioms) continue;
    looked_at.push_back(&record);
    if (!record.idioms->disguise.empty()) ++disguises[record.idioms->disguise];
  }
  if (looked_at.empty()) return {};
  json::array rows;
  for (const Property& property : properties) {
    std::size_t outputs = 0;
    for (const ScoredAnswer* record : looked_at) outputs += property.holds(*record->idioms);
    json::object row = to_json(share_of(looked_at, property, figures), figures.bootstrap.confidence);
    row["name"] = property.name;
    row["outputs"] = outputs;
    rows.push_back(std::move(row));
  }
  json::object disguised;
  for (const auto& [name, count] : disguises) disguised[name] = count;
  return json::object{{"outputs", looked_at.size()},
                      {"properties", std::move(rows)},
                      {"checks", checks_json(looked_at)},
                      {"disguises", std::move(disguised)}};
}

json::value overlap_section(std::span<const Output> outputs, const Figures& figures) {
  std::vector<const Output*> pairs;
  std::vector<score::Overlap> overlaps;
  std::map<std::string_view, std::size_t> reasons;
  for (const Output& output : outputs) {
    if (!output.record.is_scored || !output.overlap) continue;
    pairs.push_back(&output);
    overlaps.push_back(*output.overlap);
    if (!output.overlap->bleu) ++reasons[output.overlap->why_no_bleu];
  }
  if (pairs.empty()) return {};
  std::size_t with_bleu = pairs.size();
  json::object without_bleu;
  for (const auto& [reason, count] : reasons) {
    without_bleu[reason] = count;
    with_bleu -= count;
  }
  auto estimate = [&](const score::Estimate& one) { return to_json(one, figures.bootstrap.confidence); };
  score::Estimate bleu = mean_bleu(pairs, figures);
  return json::object{{"pairs", pairs.size()},
                      {"exact", estimate(share_of(pairs, &score::Overlap::exact, figures))},
                      {"exact_tokens", estimate(share_of(pairs, &score::Overlap::exact_tokens, figures))},
                      {"exact_renamed", estimate(share_of(pairs, &score::Overlap::exact_renamed, figures))},
                      {"corpus_bleu", value_or_null(score::corpus_bleu(overlaps))},
                      {"mean_bleu", value_or_null(bleu.value)},
                      {"mean_bleu_over_items", estimate(bleu)},
                      {"with_bleu", with_bleu},
                      {"without_bleu", std::move(without_bleu)}};
}

json::value compile_section(const std::vector<ScoredAnswer>& records, std::size_t asked,
                            const Figures& figures) {
  std::map<std::string, std::size_t> labels;
  std::map<std::string, std::size_t> reasons;
  for (const ScoredAnswer& record : records) {
    if (record.compile.empty()) continue;
    ++labels[record.compile];
    if (record.compile == "fails") ++reasons[record.compile_reason];
  }
  if (labels.empty()) return {};
  std::size_t known = labels["compilable"] + labels["fails"];
  json::object counts;
  for (const auto& [name, count] : labels)
    if (count > 0) counts[name] = count;
  json::object why;
  for (const auto& [reason, count] : reasons) why[reason] = count;
  return json::object{
      {"asked", asked},
      {"labels", std::move(counts)},
      {"why_it_fails", std::move(why)},
      {"compilable", to_json(score::share(labels["compilable"], known, figures.bootstrap.confidence),
                             figures.bootstrap.confidence)}};
}

namespace json = boost::json;
namespace {

constexpr std::size_t most_named = 20;

json::array names_json(const std::vector<std::string>& names) {
  json::array list;
  for (std::size_t i = 0; i < names.size() && i < most_named; ++i) list.emplace_back(names[i]);
  return list;
}

json::object comparison_json(const score::Paired& paired, const char* name, const Figures& figures) {
  return {{"name", name},
          {"method", paired.method},
          {"tasks", paired.tasks},
          {"only_before", paired.only_before.size()},
          {"only_after", paired.only_after.size()},
          {"only_before_names", names_json(paired.only_before)},
          {"only_after_names", names_json(paired.only_after)},
          {"gained", paired.gained},
          {"lost", paired.lost},
          {"before", value_or_null(paired.before)},
          {"after", value_or_null(paired.after)},
          {"difference", scoring::to_json(paired.difference, figures.bootstrap.confidence)},
          {"p_value", value_or_null(paired.p_value)},
          {"smallest_p", paired.smallest_p},
          {"enough", paired.enough},
          {"significant", paired.significant},
          {"words", paired.words}};
}

using Figure = std::function<std::optional<double>(const ScoredAnswer&)>;

// One value per item: the mean of its outputs' values.
std::vector<score::TaskValue> values_of(const std::vector<ScoredAnswer>& records, const Figure& figure) {
  std::map<std::string, std::pair<double, double>> sums;
  for (const ScoredAnswer& record : records) {
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

json::object paired_section(const std::vector<ScoredAnswer>& before, const std::vector<ScoredAnswer>& after,
                            const Figures& figures) {
  json::array measures;
  auto tasks_before = score::by_task(outcomes_of(before));
  auto tasks_after = score::by_task(outcomes_of(after));
  if (!tasks_before.empty() && !tasks_after.empty())
    measures.push_back(comparison_json(score::compare_right(tasks_before, tasks_after, figures.bootstrap),
                                       "right", figures));
  auto compare = [&](const char* name, const std::vector<score::TaskValue>& one,
                     const std::vector<score::TaskValue>& other) {
    if (one.empty() || other.empty()) return;
    measures.push_back(comparison_json(score::compare_values(one, other, figures.bootstrap), name, figures));
  };
  auto compare_figure = [&](const char* name, const Figure& figure) {
    compare(name, values_of(before, figure), values_of(after, figure));
  };
  compare("log_speedup", score::log_speedups(tasks_before), score::log_speedups(tasks_after));
  compare_figure("bleu", [](const ScoredAnswer& record) {
    return record.overlap ? record.overlap->bleu : std::nullopt;
  });
  compare_figure("exact_tokens", [](const ScoredAnswer& record) {
    return record.overlap ? std::optional(record.overlap->exact_tokens ? 1.0 : 0.0) : std::nullopt;
  });
  compare_figure("static_good", [](const ScoredAnswer& record) {
    return record.idioms ? std::optional(record.idioms->is_good ? 1.0 : 0.0) : std::nullopt;
  });
  compare_figure("static_pass", [](const ScoredAnswer& record) {
    bool has_state = record.idioms && record.idioms->state;
    return has_state ? std::optional(record.idioms->state == score::CheckState::pass ? 1.0 : 0.0)
                     : std::nullopt;
  });
  return {{"measures", std::move(measures)}};
}

}  // namespace kw::scoring
