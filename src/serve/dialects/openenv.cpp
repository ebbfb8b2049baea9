// OpenEnv over HTTP: every request has an environment of its own, so that an episode is one step with one
// completion, and the action names its task. Episodes of several turns have a WebSocket: openenv_socket.cpp.
#include <fmt/format.h>

#include "base/core/crypto.h"
#include "base/core/json.h"
#include "loop/refine/prompt.h"
#include "serve/conversation_json.h"
#include "serve/dialects/dialect.h"
#include "serve/dialects/openenv.h"
#include "serve/endpoints.h"
#include "serve/evaluation_json.h"
#include "types/trace.h"

namespace kw::service {
namespace {

namespace json = boost::json;

Answered<std::vector<json::object>> read_step(const json::object& theirs) {
  const json::object* action = object_at(theirs, "action");
  if (action == nullptr) return refuse(unprocessable("action", "is not an object"));
  json::object fields = task_fields(*action);
  if (!fields.contains("task_id") && !fields.contains("reference_code"))
    return refuse(unprocessable("action.task_id", "is missing: /reset returns the id of a task"));
  const json::value* completion = given(*action, "completion");
  if (completion == nullptr || !completion->is_string())
    return refuse(unprocessable("action.completion", "is not a text: give the model's answer"));
  fields["completion"] = *completion;
  return std::vector{std::move(fields)};
}

// Not judged: no reward, and the episode is not done, so that the step may be sent again.
http::Response answer_step(const json::object&, const std::vector<Judged>& judged) {
  const Judged& one = judged.front();
  json::object observation{
      {"evaluation", one.evaluation},
      {"verdict", one.verdict ? json::value(short_verdict(*one.verdict)) : json::value(nullptr)},
      {"not_judged", text_or_null(one.why)}};
  return json_response(200, json::object{{"observation", std::move(observation)},
                                         {"reward", value_or_null(one.reward)},
                                         {"done", one.is_final}});
}

}  // namespace

Answered<KnownTaskPtr> chosen_task(const DialectParts& parts, const Call& call, const json::object& body) {
  if (given(body, "task_id"))
    return call.find_task(string_at(body, "task_id").value_or(""),
                          string_at(body, "task_version").value_or(""));
  std::vector<KnownTaskPtr> usable;
  if (parts.tasks)
    for (const KnownTaskPtr& each : parts.tasks->all())
      if (!call.rules || call.rules->may_use(each->task.task_id)) usable.push_back(each);
  const std::size_t count = usable.size();
  if (count == 0) return refuse({404, "unknown_task", "this service has no tasks: start it with --tasks"});
  std::size_t place = 0;
  if (const json::value* seed = given(body, "seed")) {
    auto number = integer_of(*seed);
    if (!number || *number < 0) return refuse(unprocessable("seed", "is not a whole number from 0"));
    place = static_cast<std::size_t>(*number) % count;
  } else {
    for (char c : random_bytes(4)) place = (place << 8) | static_cast<unsigned char>(c);
    place %= count;
  }
  return usable[place];
}

namespace {

http::Response reset_openenv(const DialectParts& parts, const Call& call) {
  auto body = call.request.body.empty() ? Answered<json::object>(json::object{}) : json_body(call);
  if (!body) return refusal_response(body.error());
  auto style = read_prompt_style(string_at(*body, "prompt_style"));
  if (!style) return refusal_response(style.error());
  auto task = chosen_task(parts, call, *body);
  if (!task) return refusal_response(task.error());
  refine::Settings settings;
  settings.style = *style;
  settings.gradients = call.gradients;
  settings.system_prompt = refine::system_prompt_for(*style, call.gradients);
  json::object observation{{"task_id", (*task)->task.task_id},
                           {"task_version", (*task)->version},
                           {"messages", messages_json(refine::opening_messages((*task)->task, settings))}};
  return json_response(
      200, json::object{{"observation", std::move(observation)}, {"reward", nullptr}, {"done", false}});
}

json::object text_property(std::string_view description) {
  return {{"type", "string"}, {"description", description}};
}

json::object object_schema(json::object properties, json::array required) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

http::Response openenv_schema() {
  json::object action = object_schema(
      {{"completion", text_property("the model's whole answer")},
       {"task_id", text_property("a task of this service; over a WebSocket that of the episode")},
       {"episode_id", text_property("over a WebSocket: the episode, after a new connection")}},
      {"completion"});
  json::object observation = object_schema({{"evaluation", text_property("the id of the evaluation")},
                                            {"verdict", {{"type", {"object", "null"}}}},
                                            {"not_judged", {{"type", {"string", "null"}}}}},
                                           {"evaluation"});
  json::object first = object_schema({{"task_id", text_property("for the action")},
                                      {"task_version", text_property("a hash of the task's content")},
                                      {"messages", {{"type", "array"}}}},
                                     {"task_id", "messages"});
  json::object state = object_schema(
      {{"episode_id", {{"type", {"string", "null"}}}}, {"step_count", {{"type", "integer"}}}}, {});
  return json_response(200, json::object{{"action", std::move(action)},
                                         {"observation", std::move(observation)},
                                         {"state", std::move(state)},
                                         {"reset_observation", std::move(first)}});
}

// OpenEnv's word for a service that can judge is "healthy".
async::Task<http::Response> openenv_health(const Routes& routes, const Call& call) {
  auto found = routes.find("GET", "/health");
  if (found.route == nullptr) co_return refusal_response({503, "unavailable", "the health is unknown"});
  http::Response response = co_await found.route->endpoint(call);
  response.body = fmt::format(R"({{"status":"{}"}})", response.status == 200 ? "healthy" : "unhealthy");
  co_return response;
}

void add_openenv_others(Routes& routes, const DialectParts& parts) {
  routes.add({"POST", "/openenv/reset",
              answered_at_once([parts](const Call& call) { return reset_openenv(parts, call); }), false,
              true});
  routes.add({"GET", "/openenv/state", answered_at_once([](const Call&) {
                return json_response(200, json::object{{"episode_id", nullptr}, {"step_count", 0}});
              }),
              false, true});
  routes.add({"GET", "/openenv/schema", answered_at_once([](const Call&) { return openenv_schema(); }), false,
              true});
  routes.add({"GET", "/openenv/metadata", answered_at_once([](const Call&) {
                return json_response(
                    200, json::object{{"name", "kernelwright"},
                                      {"description", "Triton kernels, judged against PyTorch references"}});
              }),
              false, true});
  routes.add(
      {"GET", "/openenv/health", [&routes](const Call& call) { return openenv_health(routes, call); }, true});
  add_openenv_sockets(routes, parts);
}

}  // namespace

const Dialect openenv{.name = "openenv",
                      .path = "/openenv/step",
                      .patience = openenv_patience,
                      .patience_key = "timeout_s",
                      .read = read_step,
                      .answer = answer_step,
                      .add_others = add_openenv_others};

}  // namespace kw::service
