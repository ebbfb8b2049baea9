#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/core/json.h"
#include "base/core/text.h"
#include "serve/dialects/kernelgym.h"
#include "serve/endpoints.h"
#include "serve/evaluation_json.h"
#include "serve/routes.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr const char* prefix = "/kernelgym";

std::string_view error_code_of(const ApiError& refusal) {
  return refusal.status < 500 && refusal.status != 429 ? "VALIDATION_ERROR" : "SYSTEM_ERROR";
}

// KernelGYM's form of an error, which its tools display, with this service's Retry-After.
http::Response refused(const ApiError& refusal, const json::value& task_id) {
  http::Response response = refusal_response(refusal);
  response.body = json::serialize(json::object{{"error", refusal.error_class},
                                               {"message", refusal.message},
                                               {"detail", refusal.message},
                                               {"error_code", error_code_of(refusal)},
                                               {"task_id", task_id},
                                               {"timestamp", utc_now()}});
  return response;
}

ApiError no_task(const std::string& id) {
  return {404, "not_found", fmt::format("no task {} exists", id)};
}

// Answers when there is a verdict, as KernelGYM's server does, or after the task's timeout; then clients ask
// /status.
async::Task<http::Response> evaluate(const Call& call) {
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
  auto receipts = co_await call.evaluations->submit(std::move(one));
  if (!receipts) co_return refused(receipts.error(), task_id);
  auto found =
      co_await unless_gone(call, call.evaluations->wait({id}, async::Deadline::in(request->timeout)));
  if (!found) co_return refused(found.error(), task_id);
  if (found->empty() || !found->front()) co_return refused(no_task(id), task_id);
  co_return json_response(200, kernelgym_result(*found->front()));
}

constexpr std::size_t most_in_batch = 100;

// The result of a task that is refused alone, while the others of its batch are judged.
json::object refused_result(const ApiError& refusal, const json::value& task_id) {
  json::object result = kernelgym_result({});
  result["task_id"] = task_id;
  result["status"] = "failed";
  result["error_message"] = refusal.message;
  result["error_code"] = error_code_of(refusal);
  return result;
}

// One task of a batch, submitted.
struct Submitted {
  json::value task_id;
  std::string id;
  async::Deadline deadline;
  std::optional<ApiError> refusal;
};

async::Task<Submitted> submit_task(const Call& call, const json::value& task) {
  Submitted submitted;
  const auto refused_by = [&](ApiError refusal) {
    submitted.refusal = std::move(refusal);
    return std::move(submitted);
  };
  if (!task.is_object()) co_return refused_by({400, "invalid", "the task is not a JSON object"});
  if (const json::value* id = given(task.get_object(), "task_id")) submitted.task_id = *id;
  auto request = kernelgym_request(task.get_object());
  if (!request) co_return refused_by(std::move(request.error()));
  submitted.deadline = async::Deadline::in(request->timeout);
  auto submission = read_submission(std::move(request->fields));
  if (!submission) co_return refused_by(std::move(submission.error()));
  submitted.id = submission->job.id;
  std::vector<Submission> one;
  one.push_back(std::move(*submission));
  auto receipts = co_await call.evaluations->submit(std::move(one));
  if (!receipts) co_return refused_by(std::move(receipts.error()));
  co_return submitted;
}

// KernelGYM's counts: what compiled counts as completed.
json::object batch_json(const json::value& batch_id, json::array results) {
  std::size_t failed = 0;
  bool all_over = true;
  for (const json::value& each : results) {
    const json::value& status = each.at("status");
    failed += status == "failed" || status == "timeout" || status == "cancelled" ? 1 : 0;
    all_over = all_over && status != "pending" && status != "processing";
  }
  return {{"batch_id", batch_id},
          {"total_tasks", results.size()},
          {"completed_tasks", results.size() - failed},
          {"failed_tasks", failed},
          {"results", std::move(results)},
          {"batch_status", all_over ? "completed" : "processing"}};
}

// Answers when all tasks have their results; each waits for its own timeout at most.
async::Task<http::Response> evaluate_batch(const Call& call) {
  auto theirs = json_body(call);
  if (!theirs) co_return refused(theirs.error(), nullptr);
  const json::value* batch_id = given(*theirs, "batch_id");
  if (batch_id == nullptr || !batch_id->is_string())
    co_return refused({400, "invalid", "batch_id is not a string", "batch_id"}, nullptr);
  const json::array* tasks = array_at(*theirs, "tasks");
  if (tasks == nullptr || tasks->empty() || tasks->size() > most_in_batch)
    co_return refused(
        {400, "invalid", fmt::format("tasks is not a list of 1 to {} tasks", most_in_batch), "tasks"},
        nullptr);
  std::vector<Submitted> all;
  for (const json::value& task : *tasks) all.push_back(co_await submit_task(call, task));
  json::array results;
  for (Submitted& each : all) {
    if (each.refusal) {
      results.push_back(refused_result(*each.refusal, each.task_id));
      continue;
    }
    auto found = co_await unless_gone(call, call.evaluations->wait({each.id}, each.deadline));
    if (!found) co_return refused(found.error(), each.task_id);
    results.push_back(found->empty() || !found->front() ? refused_result(no_task(each.id), each.task_id)
                                                        : kernelgym_result(*found->front()));
  }
  co_return json_response(200, batch_json(*batch_id, std::move(results)));
}

async::Task<http::Response> look_up_task(const Call& call, json::object (*shown)(const EvaluationState&)) {
  auto found = co_await call.evaluations->find({call.rest});
  if (!found) co_return refused(found.error(), json::string(call.rest));
  if (found->empty() || !found->front()) co_return refused(no_task(call.rest), json::string(call.rest));
  co_return json_response(200, shown(*found->front()));
}

// A task has a result when it is over.
async::Task<http::Response> result(const Call& call) {
  auto found = co_await call.evaluations->find({call.rest});
  if (!found) co_return refused(found.error(), json::string(call.rest));
  if (found->empty() || !found->front() || !is_over(found->front()->state))
    co_return refused(no_task(call.rest), json::string(call.rest));
  co_return json_response(200, kernelgym_result(*found->front()));
}

async::Task<http::Response> cancel_task(const Call& call) {
  auto record = co_await call.evaluations->cancel(call.rest, "cancelled by the client");
  if (!record) co_return refused(record.error(), json::string(call.rest));
  if (!*record || (*record)->state != State::cancelled)
    co_return refused(no_task(call.rest), json::string(call.rest));
  co_return json_response(200, json::object{{"message", fmt::format("task {} is cancelled", call.rest)}});
}

// KernelGYM's trainers start only if the status is "healthy"; this service's word is "ready".
async::Task<http::Response> health(const Routes& routes, const Call& call) {
  auto found = routes.find("GET", "/health");
  if (found.route == nullptr) co_return refused({503, "unavailable", "the health is unknown"}, nullptr);
  http::Response response = co_await found.route->endpoint(call);
  bool ready = response.status == 200;
  response.body =
      json::serialize(json::object{{"status", ready ? "healthy" : "unhealthy"}, {"timestamp", utc_now()}});
  co_return response;
}

}  // namespace

void add_kernelgym(Routes& routes) {
  for (std::string root : {"", prefix}) {
    routes.add({"POST", root + "/evaluate/batch", evaluate_batch, false, true});
    routes.add({"POST", root + "/evaluate", evaluate, false, true});
    routes.add({"GET", root + "/status/*",
                [](const Call& call) { return look_up_task(call, kernelgym_status); }, false, true});
    routes.add({"GET", root + "/results/*", result, false, true});
    routes.add({"DELETE", root + "/tasks/*", cancel_task, false, true});
  }
  routes.add({"GET", std::string(prefix) + "/health",
              [&routes](const Call& call) { return health(routes, call); }, true});
}

}  // namespace kw::service
