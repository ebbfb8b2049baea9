// The streams of a Connection, for what reads and writes them itself.
#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <optional>

#include "base/http/connection.h"

namespace kw::http {

struct Connection::State {
  explicit State(async::Loop& loop) : tcp(loop) {}
  explicit State(boost::asio::ip::tcp::socket accepted) : tcp(std::move(accepted)) {}

  boost::beast::tcp_stream tcp;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls;
};

}  // namespace kw::http
