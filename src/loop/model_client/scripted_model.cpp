#include "loop/model_client/scripted_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <expected>
#include <map>
#include <optional>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/http/server.h"
#include "loop/model_client/answer.h"
#include "loop/model_client/recordings.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

// Without a tokeniser, four bytes count as a token.
std::int64_t tokens_of(std::string_view text) {
  return static_cast<std::int64_t>((text.size() + 3) / 4);
}

json::object usage_json(const Turn& turn, const std::vector<Message>& messages) {
  std::int64_t prompt = 0;
  for (const Message& message : messages) prompt += tokens_of(message.content);
  std::int64_t reasoning = tokens_of(turn.reasoning);
  std::int64_t completion = tokens_of(turn.completion) + reasoning;
  return {{"prompt_tokens", prompt},
          {"completion_tokens", completion},
          {"total_tokens", prompt + completion},
          {"completion_tokens_details", {{"reasoning_tokens", reasoning}}}};
}

std::string finish_reason(const Turn& turn) {
  return turn.finish_reason.empty() ? "stop" : turn.finish_reason;
}

json::object head(std::string_view object) {
  return {{"id", "chatcmpl-scripted"}, {"object", object}, {"created", 0}, {"model", scripted_name}};
}

std::string event(const json::object& chunk) {
  return fmt::format("data: {}\n\n", json::serialize(chunk));
}

std::string choice_event(json::object delta, json::value finish) {
  json::object chunk = head("chat.completion.chunk");
  chunk["choices"] = json::array{
      json::object{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}}};
  return event(chunk);
}

void add_pieces(std::vector<std::string>& events, std::string_view field, const std::string& given,
                std::size_t piece_bytes) {
  std::string text = to_utf8(given);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(at + std::max<std::size_t>(piece_bytes, 1), text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    events.push_back(choice_event({{field, text.substr(at, end - at)}}, nullptr));
    at = end;
  }
}

}  // namespace

std::string whole_answer(const Turn& turn, const std::vector<Message>& messages) {
  json::object message{{"role", "assistant"}, {"content", to_utf8(turn.completion)}};
  if (!turn.reasoning.empty()) message["reasoning_content"] = to_utf8(turn.reasoning);
  json::object answer = head("chat.completion");
  answer["choices"] = json::array{
      json::object{{"index", 0}, {"message", std::move(message)}, {"finish_reason", finish_reason(turn)}}};
  answer["usage"] = usage_json(turn, messages);
  return json::serialize(answer);
}

std::vector<std::string> streamed_answer(const Turn& turn, const std::vector<Message>& messages,
                                         bool with_usage, std::size_t piece_bytes) {
  std::vector<std::string> events{choice_event({{"role", "assistant"}, {"content", ""}}, nullptr)};
  add_pieces(events, "reasoning_content", turn.reasoning, piece_bytes);
  add_pieces(events, "content", turn.completion, piece_bytes);
  events.push_back(choice_event({}, json::value(finish_reason(turn))));
  if (with_usage) {
    json::object last = head("chat.completion.chunk");
    last["choices"] = json::array();
    last["usage"] = usage_json(turn, messages);
    events.push_back(event(last));
  }
  events.emplace_back("data: [DONE]\n\n");
  return events;
}

std::string models_answer() {
  json::object model{
      {"id", scripted_name}, {"object", "model"}, {"created", 0}, {"owned_by", "kernelwright"}};
  return json::serialize(json::object{{"object", "list"}, {"data", json::array{std::move(model)}}});
}

std::string error_answer(std::string_view message, std::string_view type, int status) {
  return json::serialize(json::object{
      {"error", {{"message", to_utf8(message)}, {"type", type}, {"param", nullptr}, {"code", status}}}});
}

namespace json = boost::json;
namespace {

struct ScriptedError {
  int status = 400;
  std::string message;
};

// The contents of a request.
struct Asked {
  std::vector<Message> messages;
  bool stream = false;
  bool with_usage = false;
};

struct SampleRound {
  std::size_t sample = 0;
  std::size_t round = 0;
};

// Reads "TASK_ID/SAMPLE/ROUND/TURN". The task's id may contain slashes; "~N" at the end is the attempt.
std::optional<SampleRound> sample_round_in(std::string_view id) {
  std::size_t parts[3] = {};
  for (std::size_t i = 3; i-- > 0;) {
    std::size_t slash = id.rfind('/');
    if (slash == std::string_view::npos) return {};
    std::string_view text = id.substr(slash + 1);
    text = text.substr(0, text.find('~'));
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts[i]);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    id = id.substr(0, slash);
  }
  return SampleRound{parts[0], parts[1]};
}

std::expected<Message, ScriptedError> read_message(const json::value& value) {
  const auto* object = value.if_object();
  auto role = object ? string_at(*object, "role") : std::nullopt;
  if (!role) return std::unexpected(ScriptedError{400, "a message is an object with a role"});
  auto said = said_in(*object);
  if (!said) return std::unexpected(ScriptedError{400, said.error().what});
  return Message{*role, said->content};
}

std::expected<Asked, ScriptedError> read_asked(std::string_view body) {
  auto value = parse_json(to_utf8(body));
  if (!value) return std::unexpected(ScriptedError{400, value.error().what});
  const auto* object = value->if_object();
  const json::value* messages = object ? object->if_contains("messages") : nullptr;
  if (!messages || !messages->is_array())
    return std::unexpected(ScriptedError{400, "the request has no `messages`"});
  Asked asked;
  asked.stream = bool_at(*object, "stream").value_or(false);
  if (const json::value* options = object->if_contains("stream_options"); options && options->is_object())
    asked.with_usage = bool_at(options->get_object(), "include_usage").value_or(false);
  for (const json::value& one : messages->get_array()) {
    auto message = read_message(one);
    if (!message) return std::unexpected(message.error());
    asked.messages.push_back(std::move(*message));
  }
  return asked;
}

std::string ordinal_turns(std::size_t count) {
  return count == 1 ? "1 turn" : fmt::format("{} turns", count);
}

http::Response json_response(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

}  // namespace

struct ScriptedModel::State {
  using Handled = std::shared_ptr<State>;

  static async::Task<> handle(Handled state, const http::Request& request, http::Responder& responder);
  async::Task<> complete(const http::Request& request, http::Responder& responder);
  async::Task<> stream(const Turn& turn, const Asked& asked, http::Responder& responder) const;
  std::expected<const Turn*, ScriptedError> find(const Asked& asked, std::string_view request_id);
  const Conversation* conversation(const Recorded& recorded, const Asked& asked, std::string_view request_id);

  ScriptedOptions options;
  Recordings recordings;
  std::map<const Recorded*, std::size_t> begun;  // the number of conversations without an id
  std::unique_ptr<http::Server> server;
};

// The recording that the id names. Without an id: the recording whose first answer the conversation contains,
// or the next one for a new conversation.
const Conversation* ScriptedModel::State::conversation(const Recorded& recorded, const Asked& asked,
                                                       std::string_view request_id) {
  if (auto named = sample_round_in(request_id)) return recorded.conversation(named->sample, named->round);
  auto first = std::ranges::find(asked.messages, "assistant", &Message::role);
  if (first == asked.messages.end()) return recorded.conversation(begun[&recorded]++, 0);
  for (std::size_t sample = 0; sample < recorded.samples.size(); ++sample) {
    const Conversation* followed = recorded.conversation(sample, 0);
    if (!followed->turns.empty() && trim(followed->turns.front().completion) == trim(first->content))
      return followed;
  }
  return recorded.conversation(0, 0);
}

std::expected<const Turn*, ScriptedError> ScriptedModel::State::find(const Asked& asked,
                                                                     std::string_view request_id) {
  auto user = std::ranges::find(asked.messages, "user", &Message::role);
  const Recorded* recorded = user == asked.messages.end() ? nullptr : recordings.find(user->content);
  if (!recorded)
    return std::unexpected(
        ScriptedError{404, "no recorded answer: the first user message contains no recorded reference"});
  auto turn = static_cast<std::size_t>(std::ranges::count(asked.messages, "assistant", &Message::role));
  const Conversation* found = conversation(*recorded, asked, request_id);
  if (turn < found->turns.size()) return &found->turns[turn];
  return std::unexpected(
      ScriptedError{400, fmt::format("the recording of {} has {}, but the request is for turn {}",
                                     recorded->name, ordinal_turns(found->turns.size()), turn + 1)});
}

async::Task<> ScriptedModel::State::handle(Handled state, const http::Request& request,
                                           http::Responder& responder) {
  std::string_view path = std::string_view(request.url).substr(0, request.url.find('?'));
  if (path == "/v1/models" && request.method == "GET") {
    co_await responder.send(json_response(200, models_answer()));
  } else if (path == "/v1/chat/completions" && request.method == "POST") {
    co_await state->complete(request, responder);
  } else {
    co_await responder.send(json_response(404, error_answer("no such path", "NotFoundError", 404)));
  }
}

async::Task<> ScriptedModel::State::complete(const http::Request& request, http::Responder& responder) {
  auto asked = read_asked(request.body);
  std::expected<const Turn*, ScriptedError> turn =
      asked ? find(*asked, http::header(request.headers, "x-request-id")) : std::unexpected(asked.error());
  if (!turn) {
    const ScriptedError& refusal = turn.error();
    std::string_view type = refusal.status == 404 ? "NotFoundError" : "BadRequestError";
    co_await responder.send(
        json_response(refusal.status, error_answer(refusal.message, type, refusal.status)));
    co_return;
  }
  if (options.first_token.count() > 0) co_await async::sleep_until(async::Deadline::in(options.first_token));
  if (asked->stream) {
    co_await stream(**turn, *asked, responder);
    co_return;
  }
  if (options.answer_time.count() > 0) co_await async::sleep_until(async::Deadline::in(options.answer_time));
  co_await responder.send(json_response(200, whole_answer(**turn, asked->messages)));
}

async::Task<> ScriptedModel::State::stream(const Turn& turn, const Asked& asked,
                                           http::Responder& responder) const {
  auto events = streamed_answer(turn, asked.messages, asked.with_usage, options.piece_bytes);
  http::Response head{.status = 200, .headers = {{"Content-Type", "text/event-stream"}}, .body = {}};
  co_await responder.begin(std::move(head));
  auto start = async::SteadyClock::now();
  std::string due;
  for (std::size_t i = 0; i < events.size(); ++i) {
    // The last event is due at the end of answer_time. Overdue events are sent in one write.
    auto at = start + options.answer_time * i / (events.size() - 1);
    if (at > async::SteadyClock::now()) {
      if (!due.empty() && !co_await responder.write(std::exchange(due, {}))) co_return;
      co_await async::sleep_until(async::Deadline{at});
    }
    due += events[i];
  }
  if (!co_await responder.write(std::move(due))) co_return;
  co_await responder.end();
}

ScriptedModel::ScriptedModel(std::shared_ptr<State> state) : state_(std::move(state)) {}

// The handler of the server shares ownership of the state; the reset breaks this cycle.
ScriptedModel::~ScriptedModel() {
  state_->server.reset();
}

Result<std::unique_ptr<ScriptedModel>> ScriptedModel::start(async::Loop& loop, ScriptedOptions options) {
  auto recordings = Recordings::load(options.files);
  if (!recordings) return std::unexpected(recordings.error());
  auto state = std::make_shared<State>();
  state->options = std::move(options);
  state->recordings = std::move(*recordings);
  auto server =
      http::Server::listen(loop, {}, [state](const http::Request& request, http::Responder& responder) {
        return State::handle(state, request, responder);
      });
  if (!server) return std::unexpected(server.error());
  state->server = std::move(*server);
  return std::unique_ptr<ScriptedModel>(new ScriptedModel(std::move(state)));
}

std::string ScriptedModel::url() const {
  return state_->server->url() + "/v1";
}

std::size_t ScriptedModel::references() const {
  return state_->recordings.references();
}

}  // namespace kw::llm
