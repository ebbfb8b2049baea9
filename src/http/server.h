// A small HTTP/1.1 server for loopback: the scripted model, mock servers, and later the service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "async/loop.h"
#include "base/result.h"
#include "http/message.h"

namespace kw::http {

// How a handler answers: once with send(), or with begin(), any number of write() and end().
class Responder {
 public:
  virtual ~Responder() = default;
  virtual async::Task<> send(Response response) = 0;
  // Chunked; the body of `head` is not sent.
  virtual async::Task<> begin(Response head) = 0;
  // False where the client is gone, or has said that it sends no more: the handler can end.
  virtual async::Task<bool> write(std::string piece) = 0;
  virtual async::Task<> end() = 0;
  // Cuts the connection without an end: what a crashing server looks like.
  virtual void reset() = 0;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::size_t max_connections = 8192;
};

using Handler = std::function<async::Task<>(const Request& request, Responder& responder)>;

class Server {
 public:
  // Listens at once and serves until stop() or destruction; each connection is a coroutine on the loop. A
  // handler that throws, or answers nothing, is answered for with 500.
  static Result<std::unique_ptr<Server>> listen(async::Loop& loop, ServerOptions options, Handler handler);
  ~Server();

  std::uint16_t port() const;
  std::string url() const;  // "http://127.0.0.1:PORT"
  void stop();

 private:
  struct State;
  explicit Server(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace kw::http
