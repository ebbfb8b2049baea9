#include "mcp/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/core/json.h"

namespace kw::mcp {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_id = 1'000;
constexpr std::size_t longest_method = 200;

RpcError invalid(std::string why) {
  return {ErrorCode::invalid_request, std::move(why)};
}

bool is_id(const json::value& value) {
  if (value.is_string()) return value.get_string().size() <= longest_id;
  return value.is_int64() || value.is_uint64();
}

// The method and the parameters of a request or a notification.
std::expected<void, RpcError> read_call(const json::object& fields, Message& message) {
  const json::value* method = fields.if_contains("method");
  if (method == nullptr || !method->is_string()) return std::unexpected(invalid("\"method\" is no string"));
  if (method->get_string().size() > longest_method)
    return std::unexpected(invalid(fmt::format("\"method\" is longer than {} bytes", longest_method)));
  message.method = method->get_string();
  const json::value* params = fields.if_contains("params");
  if (params == nullptr) return {};
  if (!params->is_object())
    return std::unexpected(RpcError{ErrorCode::invalid_params, "\"params\" is no object"});
  message.params = params->get_object();
  return {};
}

MessageOrError read_message(const json::value& value) {
  auto refuse = [](json::value id, RpcError error, bool is_answered = true) {
    return std::unexpected(BadMessage{std::move(id), std::move(error), is_answered});
  };
  const json::object* fields = value.if_object();
  if (fields == nullptr) return refuse(nullptr, invalid("a message is a JSON object"));
  const json::value* id = fields->if_contains("id");
  json::value known = id != nullptr && is_id(*id) ? *id : json::value();
  if (string_at(*fields, "jsonrpc") != "2.0") return refuse(known, invalid("\"jsonrpc\" is not \"2.0\""));
  Message message;
  if (!fields->contains("method") && (fields->contains("result") || fields->contains("error"))) {
    message.kind = Message::Kind::response;
    return message;
  }
  if (id != nullptr && !is_id(*id))
    return refuse(nullptr,
                  invalid(fmt::format("\"id\" is no integer and no string of at most {} bytes", longest_id)));
  message.kind = id != nullptr ? Message::Kind::request : Message::Kind::notification;
  message.id = known;
  if (auto read = read_call(*fields, message); !read)
    return refuse(known, read.error(), id != nullptr || !fields->contains("method"));
  return message;
}

std::string message_text(json::object fields) {
  json::object message{{"jsonrpc", "2.0"}};
  for (auto& [key, value] : fields) message.emplace(key, std::move(value));
  return json::serialize(message);
}

}  // namespace

bool Incoming::asks() const {
  return std::ranges::any_of(messages, [](const MessageOrError& each) {
    return each ? each->kind == Message::Kind::request : each.error().is_answered;
  });
}

bool Incoming::is_alone(std::string_view method) const {
  return !is_batch && messages.size() == 1 && messages.front() &&
         messages.front()->kind == Message::Kind::request && messages.front()->method == method;
}

Incoming read_incoming(std::string_view text) {
  auto alone = [](RpcError error) {
    return Incoming{false, {std::unexpected(BadMessage{nullptr, std::move(error), true})}};
  };
  auto value = parse_json(text);
  if (!value) return alone({ErrorCode::parse_error, value.error().what});
  const json::array* batch = value->if_array();
  if (batch == nullptr) return {false, {read_message(*value)}};
  if (batch->empty()) return alone(invalid("an empty batch"));
  if (batch->size() > most_batched)
    return alone(invalid(fmt::format("a batch of more than {} messages", most_batched)));
  Incoming incoming{true, {}};
  for (const json::value& each : *batch) incoming.messages.push_back(read_message(each));
  return incoming;
}

std::string result_text(const json::value& id, json::object result) {
  return message_text({{"id", id}, {"result", std::move(result)}});
}

std::string error_text(const json::value& id, const RpcError& error) {
  return message_text(
      {{"id", id}, {"error", {{"code", static_cast<int>(error.code)}, {"message", error.message}}}});
}

std::string notification_text(std::string_view method, json::object params) {
  return message_text({{"method", method}, {"params", std::move(params)}});
}

}  // namespace kw::mcp
