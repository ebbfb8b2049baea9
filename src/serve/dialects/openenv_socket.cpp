// OpenEnv over a WebSocket, as its EnvClient speaks it: an episode is a conversation, and a step is a turn.
// The conversation lies in the store, so that a client whose connection breaks goes on with it by its id.
#include <fmt/format.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <map>

#include "base/core/json.h"
#include "base/core/text.h"
#include "serve/conversations.h"
#include "serve/dialects/openenv.h"
#include "serve/endpoints.h"
#include "serve/evaluation_json.h"

namespace kw::service {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr double longest_step_s = 3600;
constexpr auto first_step_pause = 250ms;
constexpr auto last_step_pause = 5'000ms;
constexpr std::size_t longest_type = 64;
constexpr std::array step_fields{"completion", "finish_reason", "turn",    "episode_id",
                                 "task_id",    "timeout_s",     "metadata"};

// OpenEnv's codes of an error.
std::string_view openenv_code(const ApiError& refusal) {
  if (refusal.error_class == "invalid_json") return "INVALID_JSON";
  if (refusal.error_class == "unknown_type") return "UNKNOWN_TYPE";
  switch (refusal.status) {
    case 400:
    case 404:
    case 413:
    case 422:
      return "VALIDATION_ERROR";
    case 401:
    case 403:
      return "SESSION_ERROR";
    case 429:
      return "CAPACITY_REACHED";
    default:
      return "EXECUTION_ERROR";
  }
}

json::object openenv_error(const ApiError& refusal) {
  json::object data{{"message", refusal.message},
                    {"code", openenv_code(refusal)},
                    {"class", refusal.error_class},
                    {"field", text_or_null(refusal.field)}};
  if (refusal.retry_after_s > 0) data["retry_after_s"] = refusal.retry_after_s;
  return {{"type", "error"}, {"data", std::move(data)}};
}

json::object openenv_message(std::string_view type, json::object data) {
  return {{"type", type}, {"data", std::move(data)}};
}

Answered<std::string> text_of(const json::object& fields, std::string_view name) {
  const json::value* value = given(fields, name);
  if (!value) return std::string();
  if (!value->is_string()) return refuse(unprocessable(name, "is not a string"));
  return std::string(value->get_string());
}

// One WebSocket. It has at most one episode at a time.
class EnvSession {
 public:
  EnvSession(const DialectParts& parts, const Call& call, http::WebSocket& socket)
      : parts_(parts), call_(call), socket_(socket) {}

  async::Task<> run();

 private:
  using Loaded = Conversations::Answer;

  async::Task<Answered<json::object>> answer_to(std::string text);
  async::Task<Answered<json::object>> reset(json::object data);
  async::Task<Answered<json::object>> step(json::object action);
  async::Task<Answered<json::object>> state();
  async::Task<Answered<json::object>> judged(TurnRequest request, async::Deadline deadline);
  async::Task<Answered<bool>> pause(std::chrono::milliseconds time);
  async::Task<> end_episode();

  Answered<double> patience_of(const json::object& fields, double without) const;
  std::size_t turn_of(const ConversationRow& row, const TurnRequest& request) const;
  json::object begin(const LoadedConversation& conversation);
  json::object step_json(const LoadedConversation& conversation, std::size_t turn);

  const DialectParts& parts_;
  const Call& call_;
  http::WebSocket& socket_;
  std::string id_;                 // of the conversation, scoped; empty: none
  std::size_t sending_turn_ = 0;   // whose result is the next answer
  std::size_t answered_turn_ = 0;  // whose result this client has got
  double patience_s_ = static_cast<double>(openenv_patience.count());
  bool is_told_to_close_ = false;
};

async::Task<> EnvSession::run() {
  using namespace boost::asio::experimental::awaitable_operators;
  while (!is_told_to_close_ && !parts_.draining.is_set()) {
    auto first = co_await (socket_.read() || parts_.draining.wait());
    if (first.index() == 1) break;
    std::optional<std::string> message = std::get<0>(std::move(first));
    if (!message) co_return;
    sending_turn_ = 0;
    auto answer = co_await answer_to(std::move(*message));
    if (is_told_to_close_) break;
    const bool has_sent =
        co_await socket_.write(json::serialize(answer ? *answer : openenv_error(answer.error())));
    if (!has_sent) co_return;
    if (answer && sending_turn_ > 0) answered_turn_ = sending_turn_;
    if (!answer && answer.error().status == 401)
      co_return co_await socket_.close(http::SocketClose::policy, "the key is not known any more");
  }
  if (is_told_to_close_)
    co_await socket_.close(http::SocketClose::normal, "");
  else
    co_await socket_.close(http::SocketClose::going_away, "the service is shutting down");
}

async::Task<Answered<json::object>> EnvSession::answer_to(std::string text) {
  if (auto refusal = call_.admit_another()) co_return refuse(std::move(*refusal));
  auto message = co_await parts_.workbench.result_of<Answered<json::object>>(
      text.size(), [&text] { return read_object(text); });
  if (!message) co_return refuse({400, "invalid_json", message.error().message});
  const std::string type = string_at(*message, "type").value_or("");
  if (type == "state") co_return co_await state();
  if (type == "close") {
    co_await end_episode();
    is_told_to_close_ = true;
    co_return json::object{};
  }
  if (type != "reset" && type != "step")
    co_return refuse({400, "unknown_type",
                      fmt::format("the type \"{}\" is not reset, step, state or close",
                                  to_plain_text(shorten(type, longest_type)))});
  json::object data;
  if (const json::value* value = given(*message, "data")) {
    if (!value->is_object()) co_return refuse(unprocessable("data", "is not an object"));
    data = std::move(message->at("data").get_object());
  }
  if (type == "reset") co_return co_await reset(std::move(data));
  co_return co_await step(std::move(data));
}

Answered<double> EnvSession::patience_of(const json::object& fields, double without) const {
  const json::value* value = given(fields, "timeout_s");
  if (!value) return without;
  const double seconds = value->is_number() ? value->to_number<double>() : 0;
  if (seconds > 0 && seconds <= longest_step_s) return seconds;
  return refuse(
      unprocessable("timeout_s", fmt::format("is not a number above 0 and at most {}", longest_step_s)));
}

async::Task<> EnvSession::end_episode() {
  if (id_.empty()) co_return;
  co_await parts_.conversations.end(std::exchange(id_, {}));
}

async::Task<Answered<json::object>> EnvSession::reset(json::object data) {
  auto patience_s = patience_of(data, static_cast<double>(openenv_patience.count()));
  if (!patience_s) co_return refuse(std::move(patience_s.error()));
  auto episode = text_of(data, "episode_id");
  if (!episode) co_return refuse(std::move(episode.error()));
  if (given(data, "id"))
    co_return refuse(unprocessable("id", "is no parameter of reset: name it episode_id"));
  patience_s_ = *patience_s;
  if (!episode->empty() && !given(data, "task_id") && !given(data, "seed")) {
    auto known = co_await parts_.conversations.look(scoped_id(call_.owner, *episode));
    if (!known && known.error().status != 404) co_return refuse(std::move(known.error()));
    if (known) {
      if (known->conversation.row.id != id_) co_await end_episode();
      co_return begin(known->conversation);
    }
  }
  auto task = chosen_task(parts_, call_, data);
  if (!task) co_return refuse(std::move(task.error()));
  for (const char* name : {"seed", "episode_id", "timeout_s"}) data.erase(name);
  data["task_id"] = (*task)->task.task_id;
  if (!episode->empty()) data["id"] = *episode;
  auto request = read_conversation(data, call_.find_task, call_.gradients);
  if (!request) co_return refuse(std::move(request.error()));
  request->id = scoped_id(call_.owner, request->id);
  if (request->id != id_) co_await end_episode();  // its client begins another: the earlier one is given up
  auto opened = co_await parts_.conversations.open(std::move(*request), call_.rules);
  if (!opened) co_return refuse(std::move(opened.error()));
  co_return begin(opened->conversation);
}

json::object EnvSession::begin(const LoadedConversation& conversation) {
  id_ = conversation.row.id;
  answered_turn_ = 0;
  json::object whole = whole_conversation_json(conversation);
  json::object observation{{"episode_id", whole.at("id")},
                           {"metadata", json::object{}},
                           {"task_id", whole.at("task_id")},
                           {"task_version", whole.at("task_version")},
                           {"turn", whole.at("turn")},
                           {"turns", whole.at("turns")},
                           {"messages", std::move(whole.at("messages"))}};
  return openenv_message(
      "observation",
      {{"observation", std::move(observation)}, {"reward", nullptr}, {"done", conversation.row.is_over()}});
}

async::Task<Answered<json::object>> EnvSession::state() {
  if (id_.empty())
    co_return openenv_message("state", json::object{{"episode_id", nullptr}, {"step_count", 0}});
  auto found = co_await parts_.conversations.look(id_);
  if (!found) co_return refuse(std::move(found.error()));
  const ConversationRow& row = found->conversation.row;
  json::object all = conversation_json(found->conversation);
  json::value id = all.at("id");  // copied: adding a field can move the others
  all["episode_id"] = std::move(id);
  all["step_count"] = row.turns.size() - (row.is_judging() ? 1 : 0);
  for (const char* name : {"id", "observation"}) all.erase(name);
  co_return openenv_message("state", std::move(all));
}

// A step whose answer did not reach this client is the last turn again, if it is the same step.
std::size_t EnvSession::turn_of(const ConversationRow& row, const TurnRequest& request) const {
  const std::size_t count = row.turns.size();
  if (count == 0) return 1;
  const TurnRow& last = row.turns.back();
  if (!last.is_judged()) return count;
  const bool is_same = last.completion == request.completion && last.finish_reason == request.finish_reason;
  return is_same && answered_turn_ < count ? count : count + 1;
}

async::Task<Answered<json::object>> EnvSession::step(json::object action) {
  for (const auto& [name, value] : action)
    if (std::ranges::find(step_fields, name) == step_fields.end())
      co_return refuse(unprocessable(shorten(to_plain_text(name), longest_type), "is no field of an action"));
  auto patience_s = patience_of(action, patience_s_);
  if (!patience_s) co_return refuse(std::move(patience_s.error()));
  auto episode = text_of(action, "episode_id");
  if (!episode) co_return refuse(std::move(episode.error()));
  auto task_id = text_of(action, "task_id");
  if (!task_id) co_return refuse(std::move(task_id.error()));
  const std::string id = episode->empty() ? id_ : scoped_id(call_.owner, *episode);
  if (id.empty())
    co_return refuse(
        {409, "no_episode", "there is no episode: send reset, or name episode_id in the action"});
  auto found = co_await parts_.conversations.look(id);
  if (!found) co_return refuse(std::move(found.error()));
  if (std::exchange(id_, id) != id) answered_turn_ = 0;
  if (!task_id->empty() && *task_id != found->conversation.task->task.task_id)
    co_return refuse(unprocessable("task_id", "is not the task of the episode"));
  for (const char* name : {"episode_id", "task_id", "timeout_s", "metadata"}) action.erase(name);
  const bool names_turn = given(action, "turn") != nullptr;
  if (!names_turn) action["turn"] = 1;
  auto request = read_turn(action, 0);
  if (!request) co_return refuse(std::move(request.error()));
  if (!names_turn) request->turn = turn_of(found->conversation.row, *request);
  co_return co_await judged(std::move(*request), deadline_after(*patience_s));
}

// An error, never a reward, unless there is a verdict. Faults of the infrastructure are waited out.
async::Task<Answered<json::object>> EnvSession::judged(TurnRequest request, async::Deadline deadline) {
  const std::size_t turn = request.turn;
  std::chrono::milliseconds rest = first_step_pause;
  while (true) {
    ApiError why{503, "not_judged", "", "", 5};
    auto sent = co_await parts_.conversations.send(id_, request);
    Answered<bool> waited = true;
    if (sent && sent->judging)
      waited = co_await unless_gone(call_, parts_.conversations.until_judged(id_, deadline));
    if (!sent || !waited) {
      why = sent ? std::move(waited.error()) : std::move(sent.error());
    } else {
      auto now = co_await parts_.conversations.look(id_);
      if (!now) co_return refuse(std::move(now.error()));
      const ConversationRow& row = now->conversation.row;
      if (turn <= row.turns.size() && row.turns[turn - 1].is_judged())
        co_return step_json(now->conversation, turn);
      if (row.is_over()) co_return refuse({409, "ended", "the episode has ended: " + row.stop_reason});
      why.message =
          row.is_judging()
              ? fmt::format("turn {} is still being judged: the same step again waits for it", turn)
              : fmt::format("turn {} was not judged, the same step again may be: {}", turn, row.why);
    }
    const bool can_wait = why.retry_after_s > 0 && !parts_.draining.is_set();
    if (!can_wait || async::Deadline::in(rest).at >= deadline.at) co_return refuse(std::move(why));
    if (auto rested = co_await unless_gone(call_, pause(rest)); !rested)
      co_return refuse(std::move(rested.error()));
    rest = std::min<std::chrono::milliseconds>(2 * rest, last_step_pause);
  }
}

async::Task<Answered<bool>> EnvSession::pause(std::chrono::milliseconds time) {
  co_await async::sleep_until(async::Deadline::in(time));
  co_return true;
}

json::object EnvSession::step_json(const LoadedConversation& conversation, std::size_t turn) {
  const ConversationRow& row = conversation.row;
  const bool is_last = turn == row.turns.size();
  json::object all = turn_json(conversation, turn);
  json::object& result = all.at("result").get_object();
  json::array messages;
  if (!row.turns[turn - 1].feedback.empty())
    messages = messages_json({{"user", row.turns[turn - 1].feedback}});
  // A fault of the task: the episode ends without a reward.
  const json::object* verdict = object_at(result, "verdict");
  const bool has_reward = !result.at("reward").is_null();
  const json::value* error = has_reward || verdict == nullptr ? nullptr : verdict->if_contains("error");
  json::value why = error == nullptr ? json::value() : *error;
  json::object observation{{"episode_id", all.at("id")},
                           {"metadata", json::object{}},
                           {"task_id", all.at("task_id")},
                           {"turn", turn},
                           {"turns", all.at("turns")},
                           {"messages", std::move(messages)},
                           {"verdict", std::move(result.at("verdict"))},
                           {"evaluation", result.at("evaluation")},
                           {"not_judged", std::move(why)},
                           {"stop_reason", is_last ? all.at("stop_reason") : json::value()},
                           {"best_turn", all.at("best_turn")}};
  sending_turn_ = turn;
  return openenv_message("observation", {{"observation", std::move(observation)},
                                         {"reward", result.at("reward")},
                                         {"done", row.is_over() && is_last}});
}

// The open sessions of each owner whose number is limited.
using OwnedSessions = std::map<std::string, std::size_t>;

struct CountedSession {
  CountedSession(OwnedSessions& of, const std::string& owner) : open(of), place(of.try_emplace(owner).first) {
    ++place->second;
  }
  ~CountedSession() {
    if (--place->second == 0) open.erase(place);
  }
  CountedSession(const CountedSession&) = delete;
  OwnedSessions& open;
  OwnedSessions::iterator place;
};

async::Task<http::Response> openenv_session(std::shared_ptr<OwnedSessions> open, DialectParts parts,
                                            const Call& call) {
  if (parts.draining.is_set())
    co_return refusal_response({503, "draining", "the service is shutting down", "", 5});
  // A session has one open conversation. The connection that a client has lost may still count.
  const std::size_t most = call.rules ? 2 * call.rules->conversations_at_once : 0;
  std::optional<CountedSession> counted;
  if (most > 0) {
    auto own = open->find(call.owner);
    if (own != open->end() && own->second >= most)
      co_return refusal_response(
          {429, "quota", fmt::format("this key may have {} sessions (twice conversations_at_once)", most), "",
           30});
    counted.emplace(*open, call.owner);
  }
  auto socket = co_await call.responder.upgrade(call.request);
  if (!socket) {
    auto response =
        refusal_response({socket.error().status, socket.error().error_class, socket.error().message});
    if (response.status == 426) response.headers.push_back({"Upgrade", "websocket"});
    co_return response;
  }
  EnvSession session(parts, call, **socket);
  co_await session.run();
  co_return http::Response{101, {}, {}};
}

}  // namespace

void add_openenv_sockets(Routes& routes, const DialectParts& parts) {
  auto open = std::make_shared<OwnedSessions>();
  for (const char* path : {"/openenv/ws", "/ws"})
    routes.add({"GET", path, [open, parts](const Call& call) { return openenv_session(open, parts, call); },
                false, true});
}

}  // namespace kw::service
