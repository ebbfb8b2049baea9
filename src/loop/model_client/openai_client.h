// A ChatClient for servers with OpenAI's chat completions: vLLM, SGLang, llama.cpp, transformers serve,
// hosted ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "base/core/result.h"
#include "base/http/client.h"
#include "loop/model_client/chat.h"

namespace kw::llm {

struct ServerOptions {
  std::string base_url = "http://localhost:8000/v1";
  std::string api_key;  // sent as a bearer token; never shown
  std::string model;    // empty: the only one that the server lists
  bool stream = true;
  std::size_t in_flight = 10;  // concurrent requests at most; fewer while the server is overloaded
  std::chrono::milliseconds request_timeout{1'800'000};
  std::size_t max_attempts = 6;                  // of one request
  std::chrono::milliseconds first_backoff{500};  // doubled each time, with jitter, up to max_backoff
  std::chrono::milliseconds max_backoff{30'000};
  std::size_t max_content_bytes = std::size_t{8} << 20;  // of one answer; more is malformed
  http::ClientOptions http;
};

// The content of /v1/models.
struct Probe {
  std::vector<ModelInfo> models;
  std::string server;
};

async::Task<Result<Probe>> probe(http::Client& client, const ServerOptions& options, async::Stop& stop);

class OpenAiClient : public ChatClient {
 public:
  // Probes the server and chooses the model. An error if the server is unreachable, lists several models and
  // none was named, or lacks the named one.
  static async::Task<Result<std::unique_ptr<OpenAiClient>>> connect(async::Loop& loop, async::Stop& stop,
                                                                    ServerOptions options);
  ~OpenAiClient() override;

  async::Task<std::expected<ChatAnswer, ChatFailure>> chat(const ChatRequest& request) override;
  const ModelInfo& model() const override;

  // The current limit of concurrent requests: below options.in_flight after an overload.
  std::size_t allowed() const;

 private:
  struct State;
  explicit OpenAiClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kw::llm
