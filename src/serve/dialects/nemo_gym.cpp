// NeMo Gym's resources server: POST /verify with the row of the data set and the model's response, and what
// its framework asks of every such server.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "base/core/json.h"
#include "serve/conversation_json.h"
#include "serve/dialects/dialect.h"
#include "serve/endpoints.h"
#include "serve/evaluation_json.h"

namespace kw::service {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

// The text of the last message of the assistant; empty: it gave none, which is an answer without code.
std::string answer_in(const json::array& output) {
  for (auto item = output.rbegin(); item != output.rend(); ++item) {
    if (!item->is_object()) continue;
    const json::object& message = item->get_object();
    if (string_at(message, "type").value_or("message") != "message") continue;
    if (string_at(message, "role").value_or("") != "assistant") continue;
    if (auto text = string_at(message, "content")) return *text;
    std::string text;
    if (const json::array* parts = array_at(message, "content"))
      for (const json::value& part : *parts)
        if (part.is_object()) text += string_at(part.get_object(), "text").value_or("");
    return text;
  }
  return {};
}

// The task stands in the row, or in its verifier_metadata.
Answered<std::vector<json::object>> read_verify(const json::object& theirs) {
  const json::object* response = object_at(theirs, "response");
  const json::array* output = response == nullptr ? nullptr : array_at(*response, "output");
  if (output == nullptr) return refuse(unprocessable("response.output", "is not a list"));
  json::object fields = task_fields(theirs);
  if (const json::object* metadata = object_at(theirs, "verifier_metadata"))
    for (const auto& [key, value] : task_fields(*metadata)) fields[key] = value;
  if (!fields.contains("task_id") && !fields.contains("reference_code"))
    return refuse(unprocessable("verifier_metadata",
                                "names no task: give task_id or reference_code there, or in the row itself"));
  fields["completion"] = answer_in(*output);
  return std::vector{std::move(fields)};
}

// The request with the reward. A row that was not judged goes into NeMo Gym's file of failures: it is in no
// mean, and a resumed collection judges it again.
http::Response answer_verify(const json::object& theirs, const std::vector<Judged>& judged) {
  const Judged& one = judged.front();
  json::object row = theirs;
  row["reward"] = one.reward.value_or(0.0);
  row["correct"] = correct_number(one);
  row["evaluation"] = one.evaluation;
  row["verdict"] = one.verdict ? json::value(short_verdict(*one.verdict)) : json::value(nullptr);
  row.erase("_ng_failure_class");
  if (!one.reward) {
    row["_ng_failure_class"] = "judge_failed";
    row["_ng_failure_judge_error"] = one.why;
  }
  return json_response(200, row);
}

constexpr std::string_view task_index = "_ng_task_index";
constexpr double largest_number = 1e100;
using Columns = std::map<std::string, std::vector<double>, std::less<>>;

// The numbers of a row, and those of its `response.usage`, which count instead of numbers of the row with the
// same names.
void add_to_columns(const json::object& row, Columns& columns) {
  json::object fields = row;
  if (const json::object* response = object_at(row, "response"))
    if (const json::object* usage = object_at(*response, "usage"))
      for (const auto& [key, value] : *usage) fields[key] = value;
  for (const auto& [key, value] : fields) {
    if (key == task_index || key == "_ng_rollout_index") continue;
    if (value.is_bool()) columns[std::string(key)].push_back(value.get_bool() ? 1 : 0);
    // Larger numbers than any metric has would overflow the sums.
    if (value.is_number() && std::abs(value.to_number<double>()) < largest_number)
      columns[std::string(key)].push_back(value.to_number<double>());
  }
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of a sample; 0 for a single value, as NeMo Gym has it.
double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = mean_of(values);
  double squares = 0;
  for (double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

json::object described(Columns& columns) {
  json::object metrics;
  for (auto& [name, values] : columns) {
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    metrics["mean/" + name] = mean_of(values);
    metrics["max/" + name] = values.back();
    metrics["min/" + name] = values.front();
    metrics["median/" + name] = median;
    metrics["std/" + name] = standard_deviation(values);
  }
  return metrics;
}

http::Response aggregate_metrics(const Call& call) {
  auto body = json_body(call);
  if (!body) return refusal_response(body.error());
  const json::array* rows = array_at(*body, "verify_responses");
  if (rows == nullptr) return refusal_response(unprocessable("verify_responses", "is not a list"));
  Columns all;
  std::map<std::int64_t, Columns> by_task;
  std::map<std::int64_t, std::size_t> counts;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const json::value& row = rows->at(i);
    if (!row.is_object())
      return refusal_response(unprocessable(fmt::format("verify_responses[{}]", i), "is not an object"));
    if (row.get_object().contains("_ng_failure_class")) continue;  // not judged: no part of a mean
    const json::value* index = row.get_object().if_contains(task_index);
    const std::int64_t task = index == nullptr ? 0 : integer_of(*index).value_or(0);
    add_to_columns(row.get_object(), all);
    add_to_columns(row.get_object(), by_task[task]);
    ++counts[task];
  }
  json::array groups;
  for (auto& [task, columns] : by_task) {
    json::object group = described(columns);
    group[task_index] = task;
    group["num_rollouts"] = counts[task];
    groups.push_back(std::move(group));
  }
  json::object metrics = described(all);
  json::object key_metrics;
  for (std::string_view key : {"mean/reward", "mean/correct"})
    if (const json::value* value = metrics.if_contains(key)) key_metrics[key] = *value;
  return json_response(200, json::object{{"group_level_metrics", std::move(groups)},
                                         {"agent_metrics", std::move(metrics)},
                                         {"key_metrics", std::move(key_metrics)}});
}

void add_nemo_gym_others(Routes& routes, const DialectParts&) {
  for (std::string root : {"", "/nemo_gym"}) {
    routes.add({"POST", root + "/seed_session",
                answered_at_once([](const Call&) { return json_response(200, json::object{}); }), false,
                true});
    routes.add({"POST", root + "/aggregate_metrics", answered_at_once(aggregate_metrics), false, true});
    // A verdict needs nothing but the request.
    routes.add({"GET", root + "/reverify_mode",
                answered_at_once([](const Call&) { return json_response(200, json::string("stateless")); }),
                false, true});
  }
}

}  // namespace

// NeMo Gym's client has no limit of its own. It knows a server by host and port alone, so that all paths
// exist at the root as well.
const Dialect nemo_gym{.name = "nemo_gym",
                       .path = "/nemo_gym/verify",
                       .other_path = "/verify",
                       .patience = 600s,
                       .read = read_verify,
                       .answer = answer_verify,
                       .add_others = add_nemo_gym_others};

}  // namespace kw::service
