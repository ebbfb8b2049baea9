// One connection of the server: reads requests and calls the handler until either side closes.
#pragma once

#include <memory>

#include "base/http/connection.h"
#include "base/http/parser.h"
#include "base/http/server.h"
#include "base/http/server_socket.h"

namespace kw::http {

class Session {
 public:
  // The loop and the options must outlive the session.
  Session(async::Loop& loop, boost::asio::ip::tcp::socket accepted, std::string peer,
          const ServerOptions& options, ServerTotalsPtr totals);
  ~Session() { release(); }
  Session(const Session&) = delete;

  // Serves until the client closes, the connection breaks or a handler resets it; under TLS if there is a
  // context.
  async::Task<> serve(const Handler& handler, std::shared_ptr<TlsContext> tls);
  // Responds with this status to any request, and closes.
  async::Task<> turn_away(int status);
  // Ends the wait for a client that exceeds its time limit. The server calls it periodically: a timer per
  // wait would be the largest cost of a small request.
  void end_overdue(async::SteadyClock::time_point now);
  void close() { connection_->close(); }

  // The WebSocket; null: the client got an error of the handshake.
  using Upgraded = std::expected<std::shared_ptr<ServerSocket>, RequestError>;

 private:
  // The part of a request that the session waits for.
  enum class Awaited { nothing, request, header, body };

  async::Task<bool> receive();
  async::Task<bool> take_bytes(ParseFault& fault);
  async::Task<Upgraded> upgrade(const Request& request, bool is_11);
  async::Task<> refuse(int status);
  async::Task<> refuse_with(Response response);
  void await(Awaited what);
  bool exceeds_memory() const;
  void release();
  std::chrono::milliseconds time_for(Awaited what) const;

  async::Loop& loop_;
  std::shared_ptr<Connection> connection_;
  std::string peer_;
  const ServerOptions& options_;
  ServerTotalsPtr totals_;
  std::size_t held_ = 0;  // bytes of this session's request
  RequestParser parser_;
  std::shared_ptr<ServerSocket> socket_;  // after an upgrade
  Awaited awaited_ = Awaited::nothing;
  async::Deadline limit_;
  bool is_overdue_ = false;
  bool has_served_ = false;
};

}  // namespace kw::http
