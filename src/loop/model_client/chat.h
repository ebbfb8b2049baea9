// ChatClient: sends a conversation and returns the model's next message.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/loop.h"
#include "base/core/words.h"
#include "types/trace.h"

namespace kw::llm {

struct Sampling {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<std::int64_t> seed;          // of the run; each request adds its own number
  std::optional<std::uint64_t> max_tokens;   // none: the rest of the context
  std::string reasoning_effort;              // empty: not sent
  boost::json::object chat_template_kwargs;  // empty: not sent
};

boost::json::object to_json(const Sampling& sampling);

// A text that the model continues without a chat template, by the server's /completions. Needs
// Sampling::max_tokens, because servers stop such an answer early by default.
struct Continuation {
  std::string prompt;
  std::vector<std::string> stop;  // at most four words, which OpenAI's protocol allows
};

struct ChatRequest {
  std::string id;  // sent as X-Request-Id: "TASK_ID/SAMPLE/ROUND/TURN"
  std::vector<Message> messages;
  Sampling sampling;
  std::optional<Continuation> continuation = {};  // sent in place of the messages
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

// After all retries: unreachable; overloaded (429 or 503); server_error (5xx, or a stream that broke).
// unauthorised: 401, 403. bad_request: another 4xx, `what` quotes the server. context_overflow: the
// conversation does not fit, even with fewer tokens for the answer. refused: the model declined. empty:
// neither content nor reasoning, or all tokens went into reasoning. malformed: the answer violates the
// protocol. no_completions: the server has no /completions for this model.
BOOST_DEFINE_ENUM_CLASS(ChatFault, unreachable, overloaded, server_error, unauthorised, bad_request,
                        context_overflow, refused, empty, malformed, timeout, stopped, no_completions)

struct ChatFailure {
  ChatFault fault = ChatFault::malformed;
  std::string what;
  std::string remedy;
  ChatAnswer partial;  // the received part: reasoning, usage, model
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

  // `request` must outlive the wait. Handles retries, back-off and overload.
  virtual async::Task<std::expected<ChatAnswer, ChatFailure>> chat(const ChatRequest& request) = 0;

  virtual const ModelInfo& model() const = 0;
};

}  // namespace kw::llm
