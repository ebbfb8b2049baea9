#include "serve/endpoints.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <set>

#include "base/core/text.h"
#include "serve/evaluation_json.h"
#include "serve/routes.h"

namespace kw::service {
namespace {

// "application/json; charset=utf-8". A missing type counts as JSON.
bool is_json(std::string_view content_type) {
  std::string_view type = trim(content_type.substr(0, content_type.find(';')));
  if (!content_type.empty() && !iequals(type, "application/json")) return false;
  std::string parameters = lower(content_type.substr(std::min(content_type.size(), type.size())));
  auto charset = parameters.find("charset=");
  return charset == std::string::npos || parameters.find("utf-8", charset) != std::string::npos;
}

}  // namespace

Answered<boost::json::object> json_body(const Call& call) {
  if (!is_json(http::header(call.request.headers, "Content-Type")))
    return refuse({415, "unsupported_type", "the body must be application/json in UTF-8"});
  return read_object(call.request.body);
}

Endpoint answered_at_once(std::function<http::Response(const Call&)> answer) {
  auto shared = std::make_shared<const std::function<http::Response(const Call&)>>(std::move(answer));
  return [shared](const Call& call) {
    return [](auto from, const Call& asked) -> async::Task<http::Response> { co_return (*from)(asked); }(
                                                shared, call);
  };
}

namespace {

namespace json = boost::json;

using Answer = std::function<http::Response()>;

Endpoint at_once(Answer answer) {
  auto shared = std::make_shared<Answer>(std::move(answer));
  return [shared](const Call&) {
    return [](std::shared_ptr<Answer> from) -> async::Task<http::Response> { co_return (*from)(); }(shared);
  };
}

Answered<JobOptions> options_of(const Call& call) {
  auto body = json_body(call);
  if (!body) return refuse(std::move(body.error()));
  const json::value* options = body->if_contains("options");
  if (!options || options->is_null()) return JobOptions{};
  return read_options(*options);
}

async::Task<http::Response> protocol(std::shared_ptr<const SelfPortrait> self, const Call& call) {
  auto options = options_of(call);
  if (!options) co_return refusal_response(options.error());
  auto hash = co_await self->protocol(std::move(*options));
  if (!hash) co_return refusal_response(hash.error());
  co_return json_response(200, json::object{{"protocol", *hash}});
}

}  // namespace

void add_service_endpoints(Routes& routes, SelfPortrait portrait) {
  auto self = std::make_shared<const SelfPortrait>(std::move(portrait));
  routes.add({"GET", "/health", at_once([self] { return self->health(); }), true});
  routes.add({"GET", "/metrics", at_once([self] {
                return http::Response{
                    200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, self->metrics()};
              })});
  routes.add({"GET", "/openapi.json", at_once([] { return json_response(200, std::string(openapi())); }),
              false, true});
  routes.add({"GET", "/v1/service", at_once([self] {
                auto portrait = self->service();
                return portrait ? json_response(200, *portrait) : refusal_response(portrait.error());
              }),
              false, true});
  routes.add(
      {"POST", "/v1/protocol", [self](const Call& call) { return protocol(self, call); }, false, true});
}

namespace {

namespace json = boost::json;

constexpr std::size_t most_polled = 1'000;
constexpr std::size_t enough_answer_bytes = std::size_t{8} << 20;
constexpr std::size_t most_listed = 200;  // a verdict with evidence may have 256 KiB

ApiError no_evaluation(const std::string& id) {
  return {404, "unknown", fmt::format("no evaluation \"{}\" exists", id)};
}

ApiError bad_wait() {
  return {400, "invalid", fmt::format("wait_s is not a number from 0 to {}", longest_wait_s), "wait_s"};
}

bool is_wait(double seconds) {
  return seconds >= 0 && seconds <= longest_wait_s;
}

}  // namespace

async::Deadline deadline_after(double seconds) {
  return async::Deadline::in(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
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

Answered<std::size_t> limit_of(const Call& call, std::size_t most) {
  std::size_t limit = 0;
  if (!read_number(call.parameter("limit").value_or("100"), limit) || limit == 0 || limit > most)
    return refuse({400, "invalid", fmt::format("limit is not a number from 1 to {}", most), "limit"});
  return limit;
}

namespace {

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

// Removes the position in a list from the refusal of a single evaluation.
ApiError of_single(ApiError refusal) {
  constexpr std::string_view prefix = "evaluations[0].";
  if (refusal.field.starts_with(prefix)) refusal.field.erase(0, prefix.size());
  return refusal;
}

ApiError of_batch(ApiError refusal, std::size_t index) {
  std::string place = fmt::format("evaluations[{}]", index);
  refusal.message = fmt::format("{}: {}", place, refusal.message);
  refusal.field = refusal.field.empty() ? place : fmt::format("{}.{}", place, refusal.field);
  return refusal;
}

// The receiver of submissions, and the means to read them.
struct Counter {
  async::Workbench& workbench;
  EvaluationLimits limits;
};

using Submissions = Answered<std::vector<Submission>>;

Submissions read_one(const Call& call, const FindTask& find_task) {
  auto body = json_body(call);
  if (!body) return refuse(std::move(body.error()));
  auto submission = read_submission(std::move(*body), call.request.body, find_task);
  if (!submission) return refuse(std::move(submission.error()));
  std::vector<Submission> one;
  one.push_back(std::move(*submission));
  return one;
}

async::Task<http::Response> submit(std::shared_ptr<const Counter> to, const Call& call) {
  auto one = co_await to->workbench.result_of<Submissions>(
      call.request.body.size(), [&call] { return read_one(call, call.find_task); });
  if (!one) co_return refusal_response(one.error());
  auto receipts = co_await call.evaluations->submit(std::move(*one));
  if (!receipts) co_return refusal_response(of_single(std::move(receipts.error())));
  const Receipt& receipt = receipts->front();
  co_return json_response(receipt.repeated ? 200 : 202, receipt_json(receipt));
}

Submissions read_batch(const Call& call, std::size_t most, const FindTask& find_task) {
  auto body = json_body(call);
  if (!body) return refuse(std::move(body.error()));
  json::value* list = body->if_contains("evaluations");
  if (!list || !list->is_array() || list->get_array().empty())
    return refuse({400, "invalid", "evaluations is not a list with at least one item", "evaluations"});
  json::array& rows = list->get_array();
  if (rows.size() > most)
    return refuse({413, "too_large",
                   fmt::format("{} evaluations exceed the limit of {} per batch", rows.size(), most),
                   "evaluations"});
  std::vector<Submission> submissions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_object()) return refuse(of_batch({400, "invalid", "not a JSON object"}, i));
    auto submission = read_submission(std::move(rows[i].get_object()), {}, find_task);
    if (!submission) return refuse(of_batch(std::move(submission.error()), i));
    submissions.push_back(std::move(*submission));
  }
  return submissions;
}

async::Task<http::Response> submit_batch(std::shared_ptr<const Counter> to, const Call& call) {
  auto submissions = co_await to->workbench.result_of<Submissions>(call.request.body.size(), [&call, &to] {
    return read_batch(call, to->limits.max_batch, call.find_task);
  });
  if (!submissions) co_return refusal_response(submissions.error());
  auto receipts = co_await call.evaluations->submit(std::move(*submissions));
  if (!receipts) co_return refusal_response(receipts.error());
  json::array list;
  for (const Receipt& receipt : *receipts) list.push_back(receipt_json(receipt));
  co_return json_response(202, json::object{{"evaluations", std::move(list)}});
}

async::Task<http::Response> look_up_evaluation(const Call& call) {
  auto wait_s = wait_of(call);
  if (!wait_s) co_return refusal_response(wait_s.error());
  std::vector<std::string> ids{call.rest};
  auto records = *wait_s > 0 ? co_await unless_gone(
                                   call, call.evaluations->wait(std::move(ids), deadline_after(*wait_s)))
                             : co_await call.evaluations->find(std::move(ids));
  if (!records) co_return refusal_response(records.error());
  if (!records->front()) co_return refusal_response(no_evaluation(call.rest));
  co_return json_response(200, record_json(*records->front()));
}

async::Task<http::Response> cancel_evaluation(const Call& call) {
  auto record = co_await call.evaluations->cancel(call.rest, "cancelled by the client");
  if (!record) co_return refusal_response(record.error());
  if (!*record) co_return refusal_response(no_evaluation(call.rest));
  co_return json_response(200, record_json(**record));
}

// "1767225600000-7", the `next` of an earlier answer.
Answered<EndPlace> after_of(const Call& call) {
  std::string text = call.parameter("after").value_or("0-0");
  EndPlace place;
  std::size_t dash = std::min(text.find('-'), text.size());
  std::string_view seq = std::string_view(text).substr(std::min(text.size(), dash + 1));
  if (!read_number(std::string_view(text).substr(0, dash), place.finished_at_ms) ||
      !read_number(seq, place.seq))
    return refuse({400, "invalid", "after is not the `next` of an earlier list", "after"});
  return place;
}

async::Task<http::Response> list_ended(const Call& call) {
  auto after = after_of(call);
  if (!after) co_return refusal_response(after.error());
  auto limit = limit_of(call, most_listed);
  if (!limit) co_return refusal_response(limit.error());
  auto part = co_await call.evaluations->ended(*after, *limit);
  if (!part) co_return refusal_response(part.error());
  std::string text = "{\"evaluations\":[";
  for (const EvaluationState& record : part->records)
    text += (text.back() == '[' ? "" : ",") + record_json(record);
  text += fmt::format("],\"next\":\"{}-{}\"}}", part->next.finished_at_ms, part->next.seq);
  co_return json_response(200, std::move(text));
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

// The evaluations that are over; unknown ids have the state "unknown". Those that an answer of enough bytes
// lacks are in the next one.
std::string polled_json(const std::vector<std::string>& ids,
                        const std::vector<std::optional<EvaluationState>>& records) {
  std::string text = "{\"evaluations\":[";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (text.size() > enough_answer_bytes) break;
    if (records[i] && !is_over(records[i]->state)) continue;
    if (text.back() != '[') text += ',';
    text += records[i] ? record_json(*records[i])
                       : json::serialize(json::object{{"id", ids[i]}, {"state", "unknown"}});
  }
  return text + "]}";
}

async::Task<http::Response> poll(const Call& call) {
  auto body = json_body(call);
  if (!body) co_return refusal_response(body.error());
  auto ids = read_ids(*body);
  if (!ids) co_return refusal_response(ids.error());
  auto wait_s = wait_of(*body);
  if (!wait_s) co_return refusal_response(wait_s.error());
  auto records = co_await unless_gone(call, call.evaluations->wait(*ids, deadline_after(*wait_s)));
  if (!records) co_return refusal_response(records.error());
  co_return json_response(200, polled_json(*ids, *records));
}

}  // namespace

void add_evaluation_endpoints(Routes& routes, async::Workbench& workbench, EvaluationLimits limits) {
  auto counter = std::make_shared<const Counter>(Counter{workbench, limits});
  auto add = [&](const char* method, const char* path, Endpoint endpoint) {
    routes.add({method, path, std::move(endpoint), false, true});
  };
  add("GET", "/v1/evaluations", list_ended);
  add("POST", "/v1/evaluations", [=](const Call& call) { return submit(counter, call); });
  add("POST", "/v1/evaluations/batch", [=](const Call& call) { return submit_batch(counter, call); });
  add("POST", "/v1/evaluations/poll", poll);
  add("GET", "/v1/evaluations/*", look_up_evaluation);
  add("DELETE", "/v1/evaluations/*", cancel_evaluation);
}

}  // namespace kw::service
