// ChatClient: a conversation in, the model's next message out. What stands behind it is a server's affair.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/loop.h"
#include "schema/trace.h"

namespace kw::llm {

struct Sampling {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<std::int64_t> seed;          // of the run; each request adds its own number
  std::optional<std::uint64_t> max_tokens;   // none: what the context leaves
  std::string reasoning_effort;              // empty: not sent
  boost::json::object chat_template_kwargs;  // empty: not sent
};

boost::json::object to_json(const Sampling& sampling);

struct ChatRequest {
  std::string id;  // sent as X-Request-Id: "TASK_ID/SAMPLE/ROUND/TURN"
  std::vector<Message> messages;
  Sampling sampling;
};

struct ChatAnswer {
  std::string content;    // without reasoning
  std::string reasoning;  // from its own field, or from <think> tags
  Usage usage;
  std::string model;
  std::string finish_reason;  // "stop", "length", ...
  double total_ms = 0;        // of the request that was answered, without waits and earlier attempts
  std::optional<double> first_token_ms;
  std::size_t attempts = 1;
};

enum class ChatFault {
  unreachable,       // after all retries
  overloaded,        // 429 or 503 after all retries
  server_error,      // 5xx, or a stream that broke, after all retries
  unauthorised,      // 401, 403
  bad_request,       // another 4xx: the server's words are in `what`
  context_overflow,  // the conversation does not fit, also with fewer tokens to answer in
  refused,           // the model declined
  empty,             // neither content nor reasoning, or all tokens went into reasoning
  malformed,         // not the answer that the protocol promises
  timeout,
  stopped
};

std::string_view to_string(ChatFault fault);

struct ChatFailure {
  ChatFault fault = ChatFault::malformed;
  std::string what;
  std::string remedy;
  ChatAnswer partial;  // what had come: reasoning, usage, model
  std::size_t attempts = 1;
};

struct ModelInfo {
  std::string name;
  std::optional<std::uint64_t> max_model_len;  // tokens of prompt and answer together
  std::string server;                          // "vllm", "sglang", "llama.cpp", "transformers", or empty
};

class ChatClient {
 public:
  virtual ~ChatClient() = default;

  // `request` must outlive the wait. Retries, back-off and overload are handled within.
  virtual async::Task<std::expected<ChatAnswer, ChatFailure>> chat(const ChatRequest& request) = 0;

  virtual const ModelInfo& model() const = 0;
};

}  // namespace kw::llm
