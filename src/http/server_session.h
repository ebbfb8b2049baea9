// One connection of the server: requests come, a handler answers, until one side has had enough.
#pragma once

#include <memory>

#include "http/connection.h"
#include "http/parser.h"
#include "http/server.h"

namespace kw::http {

class Session {
 public:
  Session(boost::asio::ip::tcp::socket accepted, std::string peer, const ServerOptions& options);

  // Serves until the client goes, the connection breaks or a handler resets it; under TLS where there is a
  // context.
  async::Task<> serve(const Handler& handler, std::shared_ptr<TlsContext> tls);
  // Answers with this status whatever is asked, and closes.
  async::Task<> turn_away(int status);
  // Ends the wait for a client that took longer than it is given. For the server to call now and then: a
  // timer a wait would cost more than all else about a small request.
  void end_overdue(async::SteadyClock::time_point now);
  void close() { connection_.close(); }

 private:
  // What the client is waited for to send.
  enum class Awaited { nothing, request, header, body };

  async::Task<bool> receive();
  async::Task<bool> take_bytes(ParseFault& fault);
  async::Task<> refuse(int status);
  async::Task<> refuse_with(Response response);
  void await(Awaited what);
  std::chrono::milliseconds time_for(Awaited what) const;

  Connection connection_;
  std::string peer_;
  const ServerOptions& options_;
  RequestParser parser_;
  Awaited awaited_ = Awaited::nothing;
  async::Deadline limit_;
  bool is_overdue_ = false;
  bool has_served_ = false;
};

}  // namespace kw::http
