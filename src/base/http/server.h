// A small HTTP/1.1 server: the service, the scripted model, mock servers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/async/loop.h"
#include "base/core/result.h"
#include "base/http/message.h"
#include "base/http/served_names.h"
#include "base/http/web_socket.h"

namespace kw::http {

// A handler's response: one send(), or begin(), any number of write(), and end().
class Responder {
 public:
  virtual ~Responder() = default;
  virtual async::Task<> send(Response response) = 0;
  // Begins a chunked response; does not send the body of `head`.
  virtual async::Task<> begin(Response head) = 0;
  // False if the client has closed the connection or its sending side: the handler can end.
  virtual async::Task<bool> write(std::string piece) = 0;
  virtual async::Task<> end() = 0;
  // Resets the connection without an end, as a crashing server would.
  virtual void reset() = 0;
  // Whether the client has closed the connection or its sending side; a cheap system call.
  virtual bool gone() const = 0;
  // Ends when gone() becomes true; a long poll waits for this and for its event.
  virtual async::Task<> until_gone() = 0;
  // Makes the connection a WebSocket, which lasts until the handler returns; nothing else can be sent then.
  // An error: the refusal that the handler is to send.
  virtual async::Task<std::expected<WebSocket*, RequestError>> upgrade(const Request& request);
};

// PEM files: the certificate chain, and its key without a passphrase. Both empty: plain HTTP.
struct ServerTls {
  std::string certificate_file{};
  std::string key_file{};
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::size_t max_body_bytes = std::size_t{64} << 20;
  // Of the requests of all connections that are being received or answered: 503 for more. Requests below 64
  // KiB are always received. 0: no limit.
  std::size_t max_request_bytes = 0;
  std::size_t max_connections = 8192;
  std::size_t max_connections_per_address = 0;  // an IPv6 network of 64 bits counts as one; 0: no limit
  // Time limits of clients: to send a header, to send a body, and to begin another request on a kept
  // connection.
  std::chrono::milliseconds head_timeout{30'000};
  std::chrono::milliseconds body_timeout{300'000};
  std::chrono::milliseconds idle_timeout{300'000};
  // The longest wait for a client that does not read its response.
  std::chrono::milliseconds write_timeout{300'000};
  // WebSockets. A message has the limits of a body. A silent client gets a ping after half of the idle
  // timeout; the quiet timeout is for a client that answers pings and sends no message.
  std::size_t max_sockets = 1024;
  std::chrono::milliseconds socket_idle_timeout{60'000};
  std::chrono::milliseconds socket_quiet_timeout{3'600'000};
  ServerTls tls{};
  // Called after a request's header, before its body: a response refuses the request, so that the body of an
  // unauthorised client takes no memory.
  std::function<std::optional<Response>(const Request& head)> turn_away{};
  // The response for statuses without a handler (400, 408, 413, 429, 431, 503); default: a line of text.
  std::function<Response(int status)> refusal{};
};

using Handler = std::function<async::Task<>(const Request& request, Responder& responder)>;

class Server {
 public:
  // Listens at once and serves until stop() or destruction; each connection is a coroutine on the loop. If a
  // handler throws or sends no response, the server sends 500. The error names the address, or the file of
  // the certificate or the key.
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
