#include "mcp/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/core/display.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "mcp/shown.h"

namespace kw::mcp {
namespace {

namespace json = boost::json;

std::unexpected<RpcError> invalid_params(std::string why) {
  return std::unexpected(RpcError{ErrorCode::invalid_params, std::move(why)});
}

// The lists are complete: there is no cursor that continues them.
std::expected<void, RpcError> check_cursor(const json::object& params) {
  const json::value* cursor = params.if_contains("cursor");
  if (cursor == nullptr || cursor->is_null()) return {};
  return invalid_params("there is no such cursor: the lists of this server are complete");
}

constexpr std::size_t longest_token = 1'000;  // bytes: every notification repeats it

// Says what a call does, each time with a larger number, as the protocol demands; copies count together.
std::function<void(std::string_view)> progress_of(const json::object& params, Tell tell) {
  const json::object* meta = object_at(params, "_meta");
  const json::value* token = meta == nullptr ? nullptr : meta->if_contains("progressToken");
  const bool is_text = token != nullptr && token->is_string() && token->get_string().size() <= longest_token;
  if (token == nullptr || !(is_text || token->is_int64() || token->is_uint64()))
    return [](std::string_view) {};
  return [token = *token, tell = std::move(tell), count = std::make_shared<int>(0)](std::string_view what) {
    tell(notification_text("notifications/progress",
                           {{"progressToken", token}, {"progress", ++*count}, {"message", what}}));
  };
}

std::string first_line(std::string_view text) {
  return shown(text.substr(0, text.find('\n')));
}

// "[2,1]": the answers of a batch, in the order of its messages.
std::optional<std::string> joined(const std::vector<std::string>& answers) {
  if (answers.empty()) return {};
  std::string text = "[";
  for (const std::string& answer : answers) text.append(text.size() > 1 ? "," : "").append(answer);
  return text + "]";
}

}  // namespace

bool is_protocol_version(std::string_view version) {
  return std::ranges::find(protocol_versions, version) != std::end(protocol_versions);
}

Session::Session(async::Loop& loop, async::Stop& whole, const Offer& offer)
    : loop_(loop), whole_(whole), offer_(offer), idle_(loop) {
  idle_.set();
}

std::optional<RpcError> Session::refuse_batch(const Incoming& incoming) const {
  if (!incoming.is_batch || protocol_ == "2025-03-26") return {};
  return RpcError{ErrorCode::invalid_request,
                  protocol_.empty() ? "a batch cannot begin a session: send initialize alone"
                                    : fmt::format("protocol {} has no batches: send one message a line or "
                                                  "request",
                                                  protocol_)};
}

async::Task<std::optional<std::string>> Session::answer(std::shared_ptr<Session> session, Incoming incoming,
                                                        Tell tell) {
  if (auto refusal = session->refuse_batch(incoming)) co_return error_text(nullptr, *refusal);
  if (!incoming.is_batch)
    co_return co_await answer_one(session, std::move(incoming.messages.front()), std::move(tell));
  // All begin at once, because one may cancel another.
  struct Part {
    explicit Part(async::Loop& loop) : done(loop) {}
    async::Event done;
    std::optional<std::string> text;
  };
  std::vector<std::shared_ptr<Part>> parts;
  auto carry_out = [](std::shared_ptr<Session> of, MessageOrError message, Tell to,
                      std::shared_ptr<Part> part) -> async::Task<> {
    part->text = co_await answer_one(std::move(of), std::move(message), std::move(to));
  };
  for (MessageOrError& message : incoming.messages) {
    parts.push_back(std::make_shared<Part>(session->loop_));
    async::spawn(session->loop_, carry_out(session, std::move(message), tell, parts.back()),
                 [part = parts.back()](const std::exception_ptr&) { part->done.set(); });
  }
  std::vector<std::string> answers;
  for (const auto& part : parts) {
    co_await part->done.wait();
    if (part->text) answers.push_back(std::move(*part->text));
  }
  co_return joined(answers);
}

async::Task<std::optional<std::string>> Session::answer_one(std::shared_ptr<Session> session,
                                                            MessageOrError message, Tell tell) {
  if (!message) {
    if (!message.error().is_answered) co_return std::nullopt;
    co_return error_text(message.error().id, message.error().error);
  }
  if (message->kind == Message::Kind::response) co_return std::nullopt;
  if (message->kind == Message::Kind::notification) {
    session->take_notification(*message);
    co_return std::nullopt;
  }
  const json::value id = message->id;
  std::optional<Answered> answered;
  try {
    if (message->method == "tools/call" && !session->protocol_.empty())
      answered = co_await call_tool(session, std::move(*message), std::move(tell));
    else
      answered = session->answer_at_once(*message);
  } catch (...) {
    std::string why = async::what_of(std::current_exception());
    session->offer_.log(fmt::format("a request failed: {}", why));
    answered = std::unexpected(RpcError{ErrorCode::internal_error, "internal error: " + shown(why)});
  }
  if (!answered) co_return std::nullopt;
  co_return *answered ? result_text(id, std::move(**answered)) : error_text(id, answered->error());
}

Session::Answered Session::answer_at_once(const Message& message) {
  if (message.method == "ping") return json::object();
  if (message.method == "initialize") return initialize(message.params);
  if (protocol_.empty())
    return std::unexpected(
        RpcError{ErrorCode::invalid_request, fmt::format("{} before initialize", shown(message.method))});
  const bool is_list = message.method.ends_with("/list");
  if (is_list)
    if (auto whole_list = check_cursor(message.params); !whole_list)
      return std::unexpected(whole_list.error());
  if (message.method == "tools/list") {
    json::array tools;
    for (const auto& tool : offer_.tools) tools.push_back(to_json(tool->description()));
    return json::object{{"tools", std::move(tools)}};
  }
  if (message.method == "resources/list") return list_resources(*verdicts_);
  if (message.method == "resources/templates/list") return list_resource_templates();
  if (message.method == "resources/read") return read(message.params);
  return std::unexpected(
      RpcError{ErrorCode::method_not_found, fmt::format("no such method: {}", shown(message.method))});
}

// A version that is not known is answered with the newest that is.
Session::Answered Session::initialize(const json::object& params) {
  if (!protocol_.empty())
    return std::unexpected(RpcError{ErrorCode::invalid_request, "the session is initialized already"});
  auto wanted = string_at(params, "protocolVersion");
  if (!wanted) return invalid_params("\"protocolVersion\" is no string");
  protocol_ = is_protocol_version(*wanted) ? *wanted : std::string(protocol_versions[0]);
  return json::object{
      {"protocolVersion", protocol_},
      {"capabilities", {{"tools", json::object()}, {"resources", json::object()}}},
      {"serverInfo",
       {{"name", "kernelwright"}, {"title", "Kernelwright"}, {"version", offer_.program_version}}},
      {"instructions", offer_.instructions}};
}

Session::Answered Session::read(const json::object& params) const {
  auto uri = string_at(params, "uri");
  if (!uri) return invalid_params("\"uri\" is no string");
  auto found = read_resource(*uri, *verdicts_);
  if (found) return std::move(*found);
  return std::unexpected(RpcError{ErrorCode::resource_not_found,
                                  fmt::format("{}; {}", found.error().what, found.error().remedy)});
}

async::Task<std::optional<Session::Answered>> Session::call_tool(std::shared_ptr<Session> session,
                                                                 Message message, Tell tell) {
  auto name = string_at(message.params, "name");
  auto tool = std::ranges::find_if(session->offer_.tools,
                                   [&](const auto& each) { return each->description().name == name; });
  if (tool == session->offer_.tools.end())
    co_return invalid_params(name ? fmt::format("no such tool: {}", shown(*name)) : "\"name\" is no string");
  const json::value* arguments = message.params.if_contains("arguments");
  if (arguments != nullptr && !arguments->is_object() && !arguments->is_null())
    co_return invalid_params("\"arguments\" is no object");
  const std::string key = json::serialize(message.id);
  if (session->calls_.contains(key))
    co_return std::unexpected(
        RpcError{ErrorCode::invalid_request, "a request with this id is in progress: choose another id"});
  if (session->calls_.size() >= most_calls)
    co_return std::unexpected(
        RpcError{ErrorCode::busy, fmt::format("{} calls are in progress: wait for one of them", most_calls)});
  auto stop = std::make_shared<async::Stop>(session->loop_, session->whole_);
  session->calls_[key] = {stop};
  session->idle_.reset();
  const auto begin = async::SteadyClock::now();
  auto is_answered = std::make_shared<bool>(false);  // no notification follows the answer
  Call call{session->loop_, stop,
            progress_of(message.params,
                        [tell = std::move(tell), is_answered](std::string text) {
                          if (!*is_answered) tell(std::move(text));
                        }),
            session->verdicts_};
  std::optional<ToolAnswer> answer;
  try {
    answer = co_await (*tool)->call(
        arguments != nullptr && arguments->is_object() ? arguments->get_object() : json::object(),
        std::move(call));
  } catch (...) {
    session->finish(key);
    throw;
  }
  *is_answered = true;
  const bool is_cancelled = session->calls_[key].is_cancelled;
  session->finish(key);
  session->offer_.log(fmt::format("{}: {:.1f} s, {}", *name, async::ms_since(begin) / 1000,
                                  is_cancelled || !answer ? "stopped" : first_line(answer->text)));
  if (!answer || is_cancelled) co_return std::nullopt;
  co_return to_json(std::move(*answer));
}

void Session::finish(const std::string& key) {
  calls_.erase(key);
  if (calls_.empty()) idle_.set();
}

void Session::take_notification(const Message& message) {
  if (message.method != "notifications/cancelled") return;
  const json::value* id = message.params.if_contains("requestId");
  auto call = id == nullptr ? calls_.end() : calls_.find(json::serialize(*id));
  if (call == calls_.end()) return;  // it ended before
  call->second.is_cancelled = true;
  call->second.stop->request("cancelled by the client");
}

void Session::end(const std::string& cause) {
  for (auto& [key, call] : calls_) call.stop->request(cause);
}

async::Task<> Session::until_idle() {
  return idle_.wait();
}

}  // namespace kw::mcp
