#include "world.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/async/wait.h"

namespace kw::llm::test {
namespace json = boost::json;
using namespace std::chrono_literals;

std::string content_chunk(const std::string& content) {
  json::object delta{{"content", content}};
  return json::serialize(
      json::object{{"model", "m"}, {"choices", json::array{json::object{{"delta", delta}}}}});
}

Reply events(std::vector<std::string> data) {
  Reply reply;
  reply.headers = {{"Content-Type", "text/event-stream"}};
  for (const std::string& one : data) reply.pieces.push_back("data: " + one + "\n\n");
  return reply;
}

Reply streamed(const std::string& content, const std::string& finish) {
  json::object end{
      {"choices", json::array{json::object{{"delta", json::object{}}, {"finish_reason", finish}}}}};
  return events({content_chunk(content), json::serialize(end),
                 R"({"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}})", "[DONE]"});
}

Reply plain(const std::string& body, int status) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .pieces = {body}};
}

Reply error(int status, const std::string& message, const std::string& code) {
  json::object fields{{"message", message}, {"type", "Error"}, {"code", code}};
  return plain(json::serialize(json::object{{"error", fields}}), status);
}

Mock::Mock(async::Loop& loop) {
  models = plain(R"({"object":"list","data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]})");
  replies.push_back(streamed("hi"));
  auto server =
      http::Server::listen(loop, {}, [this](const http::Request& request, http::Responder& responder) {
        return handle(request, responder);
      });
  server_ = std::move(server.value());
}

async::Task<> Mock::handle(const http::Request& request, http::Responder& responder) {
  if (request.url == "/v1/chat/completions") {
    ++at_once;
    most_at_once = std::max(most_at_once, at_once);
    co_await chat(request, responder);
    co_return;
  }
  if (request.url == "/v1/models") {
    probe_headers = request.headers;
    co_await responder.send({models.status, models.headers, models.pieces.front()});
    co_return;
  }
  co_await responder.send({404, {}, "not here"});
}

Reply Mock::next(const json::object& body) {
  std::string last(body.at("messages").as_array().back().as_object().at("content").as_string());
  auto own = replies_to.find(last);
  std::deque<Reply>& queue = own == replies_to.end() ? replies : own->second;
  Reply reply = queue.front();
  if (queue.size() > 1) queue.pop_front();
  return reply;
}

async::Task<> Mock::chat(const http::Request& request, http::Responder& responder) {
  requests.push_back(request);
  bodies.push_back(json::parse(request.body).as_object());
  Reply reply = next(bodies.back());
  if (reply.before.count() > 0) co_await async::sleep_until(async::Deadline::in(reply.before));
  co_await responder.begin({reply.status, reply.headers, ""});
  bool first = true;
  for (const std::string& piece : reply.pieces) {
    if (!std::exchange(first, false) && reply.between.count() > 0)
      co_await async::sleep_until(async::Deadline::in(reply.between));
    if (!co_await responder.write(piece)) break;
  }
  if (reply.end == Reply::End::hang) co_await async::sleep_until(async::Deadline::in(3s));
  --at_once;  // before the end is sent, because the client may ask again as soon as it receives it
  if (reply.end == Reply::End::reset)
    responder.reset();
  else
    co_await responder.end();
}

World::World() {
  options.base_url = mock.url();
  options.first_backoff = 1ms;
  options.max_backoff = 4ms;
  options.max_attempts = 4;
  options.request_timeout = 5s;
}

Result<std::unique_ptr<OpenAiClient>> World::connect() {
  return run(loop, OpenAiClient::connect(loop, stop, options));
}

OpenAiClient& World::client() {
  if (!client_) client_ = std::move(connect().value());
  return *client_;
}

std::expected<ChatAnswer, ChatFailure> World::chat(const ChatRequest& request) {
  return run(loop, client().chat(request));
}

std::expected<ChatAnswer, ChatFailure> World::chat(const std::string& text) {
  return chat(ask(text));
}

std::vector<std::expected<ChatAnswer, ChatFailure>> World::chats(std::size_t count) {
  OpenAiClient& one = client();
  std::vector<ChatRequest> asked;
  for (std::size_t i = 0; i < count; ++i) asked.push_back(ask(fmt::format("hello {}", i)));
  std::vector<std::expected<ChatAnswer, ChatFailure>> got(count);
  std::size_t left = count;
  for (std::size_t i = 0; i < count; ++i)
    boost::asio::co_spawn(loop, one.chat(asked[i]),
                          [&, i](std::exception_ptr, std::expected<ChatAnswer, ChatFailure> answer) {
                            got[i] = std::move(answer);
                            if (--left == 0) loop.stop();
                          });
  loop.restart();
  loop.run();
  return got;
}

ChatRequest ask(const std::string& text) {
  return {.id = "task/0/0/1", .messages = {{"user", text}}, .sampling = {}};
}

}  // namespace kw::llm::test
