// The scripted model: a real HTTP server on loopback that answers with recorded completions, in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/loop.h"
#include "base/core/result.h"
#include "loop/model_client/chat.h"

namespace kw::llm {

// The model's name, as /v1/models lists it.
inline constexpr std::string_view scripted_name = "scripted";

// One JSON object: message, reasoning in `reasoning_content`, usage.
std::string whole_answer(const Turn& turn, const std::vector<Message>& messages);

// Events of a stream: role, parts of the reasoning, parts of the content, finish reason, usage if requested,
// and [DONE]. Parts end between characters.
std::vector<std::string> streamed_answer(const Turn& turn, const std::vector<Message>& messages,
                                         bool with_usage, std::size_t piece_bytes);

std::string models_answer();

std::string error_answer(std::string_view message, std::string_view type, int status);

// The scripted model: a real HTTP server on loopback that answers with recorded completions, in order.
struct ScriptedOptions {
  std::vector<std::string> files;            // recorded traces: see Recordings::load
  std::chrono::milliseconds first_token{0};  // delay before an answer begins
  std::chrono::milliseconds answer_time{0};  // from its beginning to its end, spread over its pieces
  std::size_t piece_bytes = 48;              // of a stream
};

// Serves /v1/models and /v1/chat/completions, streaming or not. The reference in the first user message and
// X-Request-Id, "TASK_ID/SAMPLE/ROUND/TURN", select the recording; the number of assistant messages selects
// the turn. A killed and resumed run therefore gets the same answers. Requests without such an id get the
// recordings of their reference in turn. Token counts are bytes/4.
class ScriptedModel {
 public:
  static Result<std::unique_ptr<ScriptedModel>> start(async::Loop& loop, ScriptedOptions options);
  ~ScriptedModel();

  std::string url() const;  // "http://127.0.0.1:PORT/v1"
  std::size_t references() const;

 private:
  struct State;
  explicit ScriptedModel(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace kw::llm
