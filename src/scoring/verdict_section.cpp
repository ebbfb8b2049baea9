#include <boost/json/array.hpp>
#include <map>

#include "score/fast_p.h"
#include "score/pass_at_k.h"
#include "scoring/sections.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

using score::Standing;
using Counts = std::map<std::string, std::size_t>;

json::object counts_json(const Counts& counts) {
  json::object object;
  for (const auto& [name, count] : counts) object[name] = count;
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

void count(const VerdictFacts& facts, Tally& tally) {
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

json::value verdict_section(const std::vector<Record>& records, const Figures& figures) {
  std::vector<score::Outcome> outcomes = outcomes_of(records);
  if (outcomes.empty()) return {};
  Tally tally;
  for (const Record& record : records)
    if (record.is_scored && record.verdict.by != JudgedBy::nobody) count(record.verdict, tally);
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

}  // namespace kw::scoring
