#include "service/kernelgym.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "base/utc_now.h"
#include "service/body.h"
#include "service/kernelgym_json.h"
#include "service/request_reader.h"
#include "service/responses.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr const char* prefix = "/kernelgym";

// In their form, so that their tools show it; Retry-After as in ours.
http::Response refused(const Refusal& refusal, const json::value& task_id) {
  http::Response response = refusal_response(refusal);
  response.body = json::serialize(json::object{
      {"error", refusal.error_class},
      {"message", refusal.message},
      {"detail", refusal.message},
      {"error_code", refusal.status < 500 && refusal.status != 429 ? "VALIDATION_ERROR" : "SYSTEM_ERROR"},
      {"task_id", task_id},
      {"timestamp", utc_now()}});
  return response;
}

Refusal unknown(const std::string& id) {
  return {404, "not_found", fmt::format("there is no task {}", id)};
}

// Answers when there is a verdict, as their server does, but not later than the task's own timeout: what is
// queued longer is asked for by /status.
async::Task<http::Response> evaluate(EvaluationDesk& desk, const Call& call) {
  auto theirs = json_body(call);
  if (!theirs) co_return refused(theirs.error(), nullptr);
  json::value task_id = theirs->contains("task_id") ? theirs->at("task_id") : json::value(nullptr);
  auto request = kernelgym_request(*theirs);
  if (!request) co_return refused(request.error(), task_id);
  auto submission = read_submission(std::move(request->fields));
  if (!submission) co_return refused(submission.error(), task_id);
  std::string id = submission->job.id;
  std::vector<Submission> one;
  one.push_back(std::move(*submission));
  auto receipts = co_await desk.submit(std::move(one));
  if (!receipts) co_return refused(receipts.error(), task_id);
  auto found = co_await unless_gone(call, desk.wait({id}, async::Deadline::in(request->timeout)));
  if (!found) co_return refused(found.error(), task_id);
  if (found->empty() || !found->front()) co_return refused(unknown(id), task_id);
  co_return json_response(200, kernelgym_result(*found->front()));
}

async::Task<http::Response> look_up(EvaluationDesk& desk, const Call& call,
                                    json::object (*shown)(const Record&)) {
  auto found = co_await desk.find({call.rest});
  if (!found) co_return refused(found.error(), json::string(call.rest));
  if (found->empty() || !found->front()) co_return refused(unknown(call.rest), json::string(call.rest));
  co_return json_response(200, shown(*found->front()));
}

// A result is there once a task is over.
async::Task<http::Response> result(EvaluationDesk& desk, const Call& call) {
  auto found = co_await desk.find({call.rest});
  if (!found) co_return refused(found.error(), json::string(call.rest));
  if (found->empty() || !found->front() || !is_over(found->front()->state))
    co_return refused(unknown(call.rest), json::string(call.rest));
  co_return json_response(200, kernelgym_result(*found->front()));
}

async::Task<http::Response> cancel(EvaluationDesk& desk, const Call& call) {
  auto record = co_await desk.cancel(call.rest, "cancelled by the client");
  if (!record) co_return refused(record.error(), json::string(call.rest));
  if (!*record || (*record)->state != State::cancelled)
    co_return refused(unknown(call.rest), json::string(call.rest));
  co_return json_response(200, json::object{{"message", fmt::format("task {} is cancelled", call.rest)}});
}

// Ours says "ready" and theirs "healthy"; their trainers start only on their own word.
async::Task<http::Response> health(const Routes& routes, const Call& call) {
  auto found = routes.find("GET", "/health");
  if (found.route == nullptr) co_return refused({503, "unavailable", "no health is known"}, nullptr);
  http::Response response = co_await found.route->endpoint(call);
  bool ready = response.status == 200;
  response.body =
      json::serialize(json::object{{"status", ready ? "healthy" : "unhealthy"}, {"timestamp", utc_now()}});
  co_return response;
}

}  // namespace

void add_kernelgym(Routes& routes, EvaluationDesk& desk) {
  for (std::string root : {"", prefix}) {
    routes.add({"POST", root + "/evaluate", [&desk](const Call& call) { return evaluate(desk, call); }});
    routes.add({"GET", root + "/status/*",
                [&desk](const Call& call) { return look_up(desk, call, kernelgym_status); }});
    routes.add({"GET", root + "/results/*", [&desk](const Call& call) { return result(desk, call); }});
    routes.add({"DELETE", root + "/tasks/*", [&desk](const Call& call) { return cancel(desk, call); }});
  }
  routes.add({"GET", std::string(prefix) + "/health",
              [&routes](const Call& call) { return health(routes, call); }, true});
}

}  // namespace kw::service
