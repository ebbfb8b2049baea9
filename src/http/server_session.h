// One connection of the server: requests come, a handler answers, until one side has had enough.
#pragma once

#include <memory>

#include "http/connection.h"
#include "http/parser.h"
#include "http/server.h"

namespace kw::http {

class Session {
 public:
  Session(boost::asio::ip::tcp::socket accepted, Limits limits);

  // Serves until the client goes, the connection breaks or a handler resets it.
  async::Task<> serve(const Handler& handler);
  // Answers with 503 whatever is asked, and closes.
  async::Task<> turn_away();
  void close() { connection_.close(); }

 private:
  async::Task<bool> receive();
  async::Task<> refuse(int status);

  Connection connection_;
  RequestParser parser_;
};

}  // namespace kw::http
