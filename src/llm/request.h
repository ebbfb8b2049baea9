// What is sent: a chat completion as JSON, in the dialect that the server understands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llm/chat.h"
#include "llm/server_error.h"

namespace kw::llm {

// Fields that not every server takes.
struct Dialect {
  enum class Limit { max_completion_tokens, max_tokens, none };
  Limit limit = Limit::max_completion_tokens;
  bool other_limit_tried = false;
  bool stream_options = true;
  bool seed = true;
};

// What is known of a kind of server, as in ModelInfo::server, before it has answered.
Dialect dialect_of(std::string_view server);

// Learns from an error that names a field which `sent` had, and which the server does not take. True: without
// it the request may pass.
bool adapt(Dialect& dialect, const Dialect& sent, const ServerError& error);

// `max_tokens`: how long the answer may be; nothing leaves that to the server.
std::string request_body(const ModelInfo& model, const ChatRequest& request, const Dialect& dialect,
                         std::optional<std::uint64_t> max_tokens, bool stream);

// The run's seed and the request's id, so that samples differ and a request asked again does not. 31 bits:
// every server takes that many.
std::int64_t seed_of(std::int64_t run_seed, std::string_view request_id);

// The id as a header's value: other characters become "_", of an over-long one the end stays. `attempt` from
// 1: later ones get "~2", since some servers refuse an id that they are still busy with.
std::string request_id_header(std::string_view id, std::size_t attempt);

}  // namespace kw::llm
