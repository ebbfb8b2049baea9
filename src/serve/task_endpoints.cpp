#include "serve/task_endpoints.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <memory>

#include "base/core/json.h"
#include "loop/refine/prompt.h"
#include "serve/conversation_json.h"
#include "serve/endpoints.h"
#include "types/trace.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr std::size_t most_listed_tasks = 1'000;

json::object task_json(const KnownTask& known) {
  const Task& task = known.task;
  return {{"id", task.task_id},
          {"version", known.version},
          {"source", task.source},
          {"sample_key", sample_key(task)},
          {"name", text_or_null(task.name)},
          {"level", text_or_null(task.level)},
          {"problem_id", text_or_null(task.problem_id)},
          {"licence", text_or_null(task.licence)},
          {"repo", text_or_null(task.repo)}};
}

http::Response list_tasks(const TaskCatalogue* tasks, const Call& call) {
  std::size_t from = 0;
  if (!read_number(call.parameter("after").value_or("0"), from))
    return refusal_response({400, "invalid", "after is not the `next` of an earlier list", "after"});
  auto limit = limit_of(call, most_listed_tasks);
  if (!limit) return refusal_response(limit.error());
  std::vector<const KnownTask*> usable;
  if (tasks != nullptr)
    for (const KnownTaskPtr& each : tasks->all())
      if (!call.rules || call.rules->may_use(each->task.task_id)) usable.push_back(each.get());
  const std::size_t count = usable.size();
  from = std::min(from, count);
  const std::size_t end = from + std::min(*limit, count - from);
  json::array list;
  for (std::size_t i = from; i < end; ++i) list.push_back(task_json(*usable[i]));
  return json_response(
      200, json::object{{"tasks", std::move(list)},
                        {"total", count},
                        {"next", end < count ? json::value(fmt::format("{}", end)) : json::value(nullptr)}});
}

http::Response show_task(const Call& call) {
  auto style = read_prompt_style(call.parameter("prompt_style"));
  if (!style) return refusal_response(style.error());
  auto found = call.find_task(call.rest, "");
  if (!found) return refusal_response(found.error());
  refine::Settings settings;
  settings.style = *style;
  settings.gradients = call.gradients;
  settings.system_prompt = refine::system_prompt_for(*style, call.gradients);
  json::object body = task_json(**found);
  body["prompt_style"] = to_string(*style);
  body["messages"] = messages_json(refine::opening_messages((*found)->task, settings));
  return json_response(200, body);
}

}  // namespace

void add_task_endpoints(Routes& routes, const TaskCataloguePtr& tasks) {
  routes.add({"GET", "/v1/tasks",
              answered_at_once([tasks](const Call& call) { return list_tasks(tasks.get(), call); }), false,
              true});
  routes.add({"GET", "/v1/tasks/*", answered_at_once(show_task), false, true});
}

namespace {

struct ConversationApi {
  Conversations& conversations;
  async::Workbench& workbench;
};

using ConversationApiPtr = std::shared_ptr<const ConversationApi>;

async::Task<http::Response> open_conversation(ConversationApiPtr api, const Call& call) {
  using Read = Answered<ConversationRequest>;
  auto request = co_await api->workbench.result_of<Read>(call.request.body.size(), [&call]() -> Read {
    auto body = json_body(call);
    if (!body) return refuse(std::move(body.error()));
    return read_conversation(std::move(*body), call.find_task, call.gradients);
  });
  if (!request) co_return refusal_response(request.error());
  request->id = scoped_id(call.owner, request->id);
  auto opened = co_await api->conversations.open(std::move(*request), call.rules);
  if (!opened) co_return refusal_response(opened.error());
  co_return json_response(opened->repeated ? 200 : 201, conversation_json(opened->conversation));
}

// The conversation once no turn of it is being judged, or after the time.
async::Task<Answered<Conversations::Answer>> settled(ConversationApiPtr api, const Call& call, std::string id,
                                                     double wait_s, Completions completions) {
  if (wait_s > 0) {
    auto waited = co_await unless_gone(call, api->conversations.until_judged(id, deadline_after(wait_s)));
    if (!waited) co_return refuse(std::move(waited.error()));
  }
  co_return co_await api->conversations.look(std::move(id), completions);
}

async::Task<http::Response> send_turn(ConversationApiPtr api, const Call& call) {
  using Read = Answered<TurnRequest>;
  auto request = co_await api->workbench.result_of<Read>(call.request.body.size(), [&call]() -> Read {
    auto body = json_body(call);
    if (!body) return refuse(std::move(body.error()));
    return read_turn(*body, longest_wait_s);
  });
  if (!request) co_return refusal_response(request.error());
  const std::size_t turn = request->turn;
  const double wait_s = request->wait_s;
  const std::string id = scoped_id(call.owner, call.rest);
  auto answer = co_await api->conversations.send(id, std::move(*request));
  if (answer && answer->judging) {
    answer = co_await settled(api, call, id, wait_s, Completions::none);
    if (answer) answer->judging = answer->judging && answer->conversation.row.turns.size() == turn;
  }
  if (!answer) co_return refusal_response(answer.error());
  co_return json_response(answer->judging ? 202 : 200, turn_json(answer->conversation, turn));
}

async::Task<http::Response> show_conversation(ConversationApiPtr api, const Call& call) {
  auto wait_s = wait_of(call);
  if (!wait_s) co_return refusal_response(wait_s.error());
  const std::string id = scoped_id(call.owner, call.rest);
  // A turn that waits for its verdict is judged meanwhile, also after a restart.
  auto answer = co_await api->conversations.look(id, *wait_s > 0 ? Completions::none : Completions::all);
  if (answer && *wait_s > 0)
    answer = co_await settled(api, call, id, answer->judging ? *wait_s : 0, Completions::all);
  if (!answer) co_return refusal_response(answer.error());
  co_return co_await api->workbench.result_of<http::Response>(answer->conversation.row.bytes, [&answer] {
    return json_response(200, whole_conversation_json(answer->conversation));
  });
}

async::Task<http::Response> end_conversation(ConversationApiPtr api, const Call& call) {
  auto answer = co_await api->conversations.end(scoped_id(call.owner, call.rest));
  if (!answer) co_return refusal_response(answer.error());
  co_return json_response(200, whole_conversation_json(answer->conversation));
}

}  // namespace

void add_conversation_endpoints(Routes& routes, Conversations& conversations, async::Workbench& workbench) {
  auto api = std::make_shared<const ConversationApi>(ConversationApi{conversations, workbench});
  auto add = [&](const char* method, const char* path, auto endpoint) {
    routes.add({method, path, [=](const Call& call) { return endpoint(api, call); }, false, true});
  };
  add("POST", "/v1/conversations", open_conversation);
  add("GET", "/v1/conversations/*", show_conversation);
  add("DELETE", "/v1/conversations/*", end_conversation);
  add("POST", "/v1/conversations/*/turns", send_turn);
}

}  // namespace kw::service
