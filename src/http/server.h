// A small HTTP/1.1 server: the service, the scripted model, mock servers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  // The client is gone, or has said that it sends no more; asks the system, which is cheap.
  virtual bool gone() const = 0;
  // Ends when that is so: what a long poll waits for beside its event.
  virtual async::Task<> until_gone() = 0;
};

// Files in PEM: the certificate with those that signed it, and its key without a passphrase. Both empty:
// plain HTTP.
struct ServerTls {
  std::string certificate_file{};
  std::string key_file{};
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::size_t max_connections = 8192;
  std::size_t max_connections_per_address = 0;  // an IPv6 network of 64 bits counts as one; 0: no limit
  // A client that takes longer loses its connection: to begin and to send a header, to send a body, to ask
  // again on a connection that is kept.
  std::chrono::milliseconds head_timeout{30'000};
  std::chrono::milliseconds body_timeout{300'000};
  std::chrono::milliseconds idle_timeout{300'000};
  ServerTls tls{};
  // Asked when the header of a request has come and its body has not: a response turns the client away, so
  // that no stranger's body takes room.
  std::function<std::optional<Response>(const Request& head)> turn_away{};
  // What is said with a status (400, 408, 413, 429, 431, 503) where no handler is asked; else a line of text.
  std::function<Response(int status)> refusal{};
};

using Handler = std::function<async::Task<>(const Request& request, Responder& responder)>;

class Server {
 public:
  // The error names the address, or the file of the certificate or the key. Listens at once and serves until
  // stop() or destruction; each connection is a coroutine on the loop. A handler that throws, or answers
  // nothing, is answered for with 500.
  static Result<std::unique_ptr<Server>> listen(async::Loop& loop, ServerOptions options, Handler handler);
  ~Server();

  std::uint16_t port() const;
  std::string url() const;          // "http://127.0.0.1:PORT", or https
  std::size_t connections() const;  // open now
  void stop();

 private:
  struct State;
  explicit Server(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace kw::http
