// Builds a chat completion request as JSON, in the server's dialect, and computes the maximum number of
// tokens of its answer from the rest of the context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/model_client/chat.h"
#include "loop/model_client/server_error.h"

namespace kw::llm {

// Fields that some servers refuse.
struct Dialect {
  enum class Limit { max_completion_tokens, max_tokens, none };
  Limit limit = Limit::max_completion_tokens;
  bool other_limit_tried = false;
  bool stream_options = true;
  bool seed = true;
};

// Known properties of a kind of server, as in ModelInfo::server, before its first response.
Dialect dialect_of(std::string_view server);

// Reads an error that names a field of `sent` which the server refuses. True: the request may succeed
// without it.
bool adapt(Dialect& dialect, const Dialect& sent, const ServerError& error);

// `max_tokens`: the maximum length of the answer; empty: the server decides.
std::string request_body(const ModelInfo& model, const ChatRequest& request, const Dialect& dialect,
                         std::optional<std::uint64_t> max_tokens, bool stream);

// A seed from the run's seed and the request's id, so that samples differ and repeated requests are equal.
// 31 bits, which every server accepts.
std::int64_t seed_of(std::int64_t run_seed, std::string_view request_id);

// The id as a header's value: other characters become "_"; a too long id keeps its end. `attempt` counts
// from 1: later ones get "~2", since some servers refuse an id that is still in progress.
std::string request_id_header(std::string_view id, std::size_t attempt);

// Estimates a prompt's tokens before the server has counted them. The first estimate is one token per three
// bytes, more than tokenisers need for code and English; it adapts to the server's counts.
class TokenEstimate {
 public:
  std::uint64_t of(const std::vector<Message>& messages) const;
  void learn(const std::vector<Message>& messages, std::int64_t prompt_tokens);

 private:
  double tokens_a_byte_ = 1.0 / 3.0;
  bool learned_ = false;
};

// The number to request: sampling.max_tokens, or the rest of the context if that is less; empty if neither
// is known. An estimate alone never fails a prompt as too long: the number is at least 1.
std::optional<std::uint64_t> answer_tokens(const ModelInfo& model, const Sampling& sampling,
                                           std::uint64_t prompt_tokens);

}  // namespace kw::llm
