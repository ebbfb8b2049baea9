// The scripted model: a real HTTP server on loopback that answers with recorded completions, in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "async/loop.h"
#include "base/result.h"

namespace kw::llm {

struct ScriptedOptions {
  std::vector<std::string> files;            // recorded traces, as Recordings::load takes them
  std::chrono::milliseconds first_token{0};  // till an answer begins
  std::chrono::milliseconds answer_time{0};  // from there to its end, spread over its pieces
  std::size_t piece_bytes = 48;              // of a stream
};

// Speaks /v1/models and /v1/chat/completions, streaming or not. Which recording is meant follows from the
// reference in the first user message, and from X-Request-Id, "TASK_ID/SAMPLE/ROUND/TURN"; which turn, from
// the number of assistant messages. So a run that was killed and goes on gets the answers that it would have
// got. A request without such an id gets the recordings of its reference one after another. Tokens are
// counted as bytes/4.
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
