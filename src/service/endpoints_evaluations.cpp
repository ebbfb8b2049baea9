#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>
#include <set>

#include "service/body.h"
#include "service/endpoints.h"
#include "service/request_reader.h"
#include "service/responses.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr double longest_wait_s = 60;
constexpr std::size_t most_polled = 1'000;

Refusal unknown(const std::string& id) {
  return {404, "unknown", fmt::format("there is no evaluation \"{}\"", id)};
}

Refusal bad_wait() {
  return {400, "invalid", fmt::format("wait_s is not a number from 0 to {}", longest_wait_s), "wait_s"};
}

async::Deadline after(double seconds) {
  return async::Deadline::in(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
}

bool is_wait(double seconds) {
  return seconds >= 0 && seconds <= longest_wait_s;
}

Answered<double> wait_of(const Call& call) {
  auto text = call.parameter("wait_s");
  if (!text) return 0;
  double seconds = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (error != std::errc() || end != text->data() + text->size() || !is_wait(seconds))
    return refuse(bad_wait());
  return seconds;
}

Answered<double> wait_of(const json::object& body) {
  const json::value* value = body.if_contains("wait_s");
  if (!value || value->is_null()) return 0;
  double seconds = value->is_number() ? value->to_number<double>() : -1;
  if (!is_wait(seconds)) return refuse(bad_wait());
  return seconds;
}

json::object receipt_json(const Receipt& receipt) {
  json::object object{{"id", receipt.id}, {"state", to_string(receipt.state)}};
  if (receipt.position) object["position"] = *receipt.position;
  return object;
}

// A single one has no place in a list.
Refusal of_single(Refusal refusal) {
  constexpr std::string_view prefix = "evaluations[0].";
  if (refusal.field.starts_with(prefix)) refusal.field.erase(0, prefix.size());
  return refusal;
}

Refusal of_batch(Refusal refusal, std::size_t index) {
  std::string place = fmt::format("evaluations[{}]", index);
  refusal.message = fmt::format("{}: {}", place, refusal.message);
  refusal.field = refusal.field.empty() ? place : fmt::format("{}.{}", place, refusal.field);
  return refusal;
}

// Where evaluations are asked for, and what is needed to read that.
struct Counter {
  EvaluationDesk& desk;
  Workbench& workbench;
  EvaluationLimits limits;
};

using Submissions = Answered<std::vector<Submission>>;

Submissions read_one(const Call& call) {
  auto body = json_body(call);
  if (!body) return refuse(std::move(body.error()));
  auto submission = read_submission(std::move(*body), call.request.body);
  if (!submission) return refuse(std::move(submission.error()));
  std::vector<Submission> one;
  one.push_back(std::move(*submission));
  return one;
}

async::Task<http::Response> submit(Counter counter, const Call& call) {
  auto one = co_await counter.workbench.result_of<Submissions>(call.request.body.size(),
                                                               [&call] { return read_one(call); });
  if (!one) co_return refusal_response(one.error());
  auto receipts = co_await counter.desk.submit(std::move(*one));
  if (!receipts) co_return refusal_response(of_single(std::move(receipts.error())));
  const Receipt& receipt = receipts->front();
  co_return json_response(receipt.repeated ? 200 : 202, receipt_json(receipt));
}

Submissions read_batch(const Call& call, std::size_t most) {
  auto body = json_body(call);
  if (!body) return refuse(std::move(body.error()));
  json::value* list = body->if_contains("evaluations");
  if (!list || !list->is_array() || list->get_array().empty())
    return refuse({400, "invalid", "evaluations is not a list of at least one", "evaluations"});
  json::array& rows = list->get_array();
  if (rows.size() > most)
    return refuse({413, "too_large",
                   fmt::format("{} evaluations are more than the {} of a batch", rows.size(), most),
                   "evaluations"});
  std::vector<Submission> submissions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_object()) return refuse(of_batch({400, "invalid", "it is no object"}, i));
    auto submission = read_submission(std::move(rows[i].get_object()));
    if (!submission) return refuse(of_batch(std::move(submission.error()), i));
    submissions.push_back(std::move(*submission));
  }
  return submissions;
}

async::Task<http::Response> submit_batch(Counter counter, const Call& call) {
  auto submissions = co_await counter.workbench.result_of<Submissions>(
      call.request.body.size(), [&call, most = counter.limits.max_batch] { return read_batch(call, most); });
  if (!submissions) co_return refusal_response(submissions.error());
  auto receipts = co_await counter.desk.submit(std::move(*submissions));
  if (!receipts) co_return refusal_response(receipts.error());
  json::array list;
  for (const Receipt& receipt : *receipts) list.push_back(receipt_json(receipt));
  co_return json_response(202, json::object{{"evaluations", std::move(list)}});
}

async::Task<http::Response> look_up(EvaluationDesk* desk, const Call& call) {
  auto wait_s = wait_of(call);
  if (!wait_s) co_return refusal_response(wait_s.error());
  std::vector<std::string> ids{call.rest};
  auto records = *wait_s > 0 ? co_await unless_gone(call, desk->wait(std::move(ids), after(*wait_s)))
                             : co_await desk->find(std::move(ids));
  if (!records) co_return refusal_response(records.error());
  if (!records->front()) co_return refusal_response(unknown(call.rest));
  co_return json_response(200, record_json(*records->front()));
}

async::Task<http::Response> cancel(EvaluationDesk* desk, const Call& call) {
  auto record = co_await desk->cancel(call.rest, "cancelled by the client");
  if (!record) co_return refusal_response(record.error());
  if (!*record) co_return refusal_response(unknown(call.rest));
  co_return json_response(200, record_json(**record));
}

Answered<std::vector<std::string>> read_ids(const json::object& body) {
  const json::value* list = body.if_contains("ids");
  if (!list || !list->is_array() || list->get_array().empty() || list->get_array().size() > most_polled)
    return refuse({400, "invalid", fmt::format("ids is not a list of 1 to {} ids", most_polled), "ids"});
  std::vector<std::string> ids;
  std::set<std::string_view> seen;
  for (const json::value& each : list->get_array()) {
    if (!each.is_string())
      return refuse({400, "invalid", "an id is not a string", fmt::format("ids[{}]", ids.size())});
    if (seen.insert(each.get_string()).second) ids.emplace_back(each.get_string());
  }
  return ids;
}

// Those that are over; what is not known is said to be so.
std::string polled_json(const std::vector<std::string>& ids,
                        const std::vector<std::optional<Record>>& records) {
  std::string text = "{\"evaluations\":[";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (records[i] && !is_over(records[i]->state)) continue;
    if (text.back() != '[') text += ',';
    text += records[i] ? record_json(*records[i])
                       : json::serialize(json::object{{"id", ids[i]}, {"state", "unknown"}});
  }
  return text + "]}";
}

async::Task<http::Response> poll(EvaluationDesk* desk, const Call& call) {
  auto body = json_body(call);
  if (!body) co_return refusal_response(body.error());
  auto ids = read_ids(*body);
  if (!ids) co_return refusal_response(ids.error());
  auto wait_s = wait_of(*body);
  if (!wait_s) co_return refusal_response(wait_s.error());
  auto records = co_await unless_gone(call, desk->wait(*ids, after(*wait_s)));
  if (!records) co_return refusal_response(records.error());
  co_return json_response(200, polled_json(*ids, *records));
}

}  // namespace

void add_evaluation_endpoints(Routes& routes, EvaluationDesk& desk, Workbench& workbench,
                              EvaluationLimits limits) {
  Counter counter{desk, workbench, limits};
  auto at = &desk;
  routes.add({"POST", "/v1/evaluations", [=](const Call& call) { return submit(counter, call); }});
  routes.add(
      {"POST", "/v1/evaluations/batch", [=](const Call& call) { return submit_batch(counter, call); }});
  routes.add({"POST", "/v1/evaluations/poll", [=](const Call& call) { return poll(at, call); }});
  routes.add({"GET", "/v1/evaluations/*", [=](const Call& call) { return look_up(at, call); }});
  routes.add({"DELETE", "/v1/evaluations/*", [=](const Call& call) { return cancel(at, call); }});
}

}  // namespace kw::service
