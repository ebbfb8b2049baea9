// A TLS server with a certificate made for the test, and a proxy that tunnels to it.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "world.h"

namespace kw::http::test {

// A self-signed certificate for one name or address, and its key, in PEM.
struct Certificate {
  std::string certificate;
  std::string key;
};

Certificate make_certificate(const std::string& host);

// A file that lives as long as this.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text);
  ~TemporaryFile();
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Answers each request with the bytes that it read, until the client closes.
class TlsServer {
 public:
  TlsServer(async::Loop& loop, const Certificate& certificate);
  std::uint16_t port() const { return server_->port(); }
  int connections() const { return server_->connections(); }
  // The answer to every request.
  void answer_with(std::string bytes) { answer_ = std::move(bytes); }
  // Offers at most TLS 1.1.
  void only_old_versions();

 private:
  boost::asio::ssl::context context_{boost::asio::ssl::context::tls_server};
  std::string answer_;
  std::unique_ptr<RawServer> server_;
};

// Tunnels every CONNECT to one port on loopback, whatever its target; keeps the requests.
class TunnelProxy {
 public:
  TunnelProxy(async::Loop& loop, std::uint16_t to,
              std::string answer = "HTTP/1.1 200 Connection established\r\n\r\n");
  std::string url(const std::string& userinfo = "") const;

  std::string asked;

 private:
  std::uint16_t to_;
  std::string answer_;
  RawServer server_;
};

}  // namespace kw::http::test
