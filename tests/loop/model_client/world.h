// Test world of the chat client: a loop, a mock server that answers as specified, and a client of it.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "base/http/server.h"
#include "loop/model_client/openai_client.h"
#include "support/run_task.h"

namespace kw::llm::test {

// Runs one coroutine to its end.
template <typename T>
T run(async::Loop& loop, async::Task<T> task) {
  return kw::test::run_task(loop, std::move(task));
}

struct Reply {
  enum class End { proper, reset, hang };
  int status = 200;
  http::Headers headers;
  std::vector<std::string> pieces;
  End end = End::proper;
  std::chrono::milliseconds before{0};   // the first piece
  std::chrono::milliseconds between{0};  // two pieces
};

// A valid streamed answer: data lines of OpenAI's chunks, usage and [DONE].
Reply streamed(const std::string& content, const std::string& finish = "stop");
// The given events.
Reply events(std::vector<std::string> data);
// One JSON object.
Reply plain(const std::string& body, int status = 200);
// An error in OpenAI's form.
Reply error(int status, const std::string& message, const std::string& code = "");
std::string content_chunk(const std::string& content);

// Answers /v1/models with `models`, and each chat with the next reply; the last one repeats.
class Mock {
 public:
  explicit Mock(async::Loop& loop);

  std::string url() const { return server_->url(); }
  void close() { server_->stop(); }

  Reply models;
  std::deque<Reply> replies;
  std::map<std::string, std::deque<Reply>> replies_to;  // by the last message, instead of `replies`
  std::vector<http::Request> requests;                  // of chats
  std::vector<boost::json::object> bodies;              // of these requests
  http::Headers probe_headers;
  std::size_t at_once = 0;
  std::size_t most_at_once = 0;

 private:
  async::Task<> handle(const http::Request& request, http::Responder& responder);
  async::Task<> chat(const http::Request& request, http::Responder& responder);
  Reply next(const boost::json::object& body);

  std::unique_ptr<http::Server> server_;
};

// A client with back-offs of a few milliseconds, connected at first use.
class World {
 public:
  World();

  OpenAiClient& client();
  std::expected<ChatAnswer, ChatFailure> chat(const std::string& text = "hello");
  std::expected<ChatAnswer, ChatFailure> chat(const ChatRequest& request);
  // All at once.
  std::vector<std::expected<ChatAnswer, ChatFailure>> chats(std::size_t count);
  Result<std::unique_ptr<OpenAiClient>> connect();

  async::Loop loop;
  async::Stop stop{loop};
  Mock mock{loop};
  ServerOptions options;

 private:
  std::unique_ptr<OpenAiClient> client_;
};

ChatRequest ask(const std::string& text);

}  // namespace kw::llm::test
