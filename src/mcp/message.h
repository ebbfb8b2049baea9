// JSON-RPC 2.0 as the Model Context Protocol uses it: reads the messages of a client, and writes answers and
// notifications, one line of JSON each.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace kw::mcp {

// A message or a batch of messages.
inline constexpr std::size_t most_message_bytes = std::size_t{4} << 20;
inline constexpr std::size_t most_batched = 32;

enum class ErrorCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  resource_not_found = -32002,
  busy = -32000
};

struct RpcError {
  ErrorCode code = ErrorCode::internal_error;
  std::string message;
};

struct Message {
  enum class Kind { request, notification, response };
  Kind kind = Kind::notification;
  boost::json::value id;  // of a request: a string or an integer
  std::string method;
  boost::json::object params;
};

// A message that is refused, with its id if that could be read, else null.
struct BadMessage {
  boost::json::value id;
  RpcError error;
  bool is_answered = true;  // false: a notification, which gets no answer
};

using MessageOrError = std::expected<Message, BadMessage>;

// What a client sent at a time: one message, or a batch of them.
struct Incoming {
  bool is_batch = false;
  std::vector<MessageOrError> messages;

  // Whether a request is among them, so that an answer is due.
  bool asks() const;
  // The request for this method, if it is alone.
  bool is_alone(std::string_view method) const;
};

// Reads a text of at most most_message_bytes; the nesting of its JSON is limited to 32.
Incoming read_incoming(std::string_view text);

// One line each, without its line feed.
std::string result_text(const boost::json::value& id, boost::json::object result);
std::string error_text(const boost::json::value& id, const RpcError& error);
std::string notification_text(std::string_view method, boost::json::object params);

}  // namespace kw::mcp
