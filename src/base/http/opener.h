// Opens connections (resolution, TCP, the proxy's CONNECT, and TLS, all within one time limit), and keeps
// idle ones for later requests to the same server.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <expected>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "base/http/client.h"
#include "base/http/connection.h"
#include "base/http/url.h"

namespace kw::http {

// Resolves host names. Asio resolves on a separate thread and cannot be interrupted there, so waiters may
// leave early, and equal requests share a result.
struct Addresses {
  boost::system::error_code error;  // timed_out after the deadline
  std::vector<boost::asio::ip::tcp::endpoint> endpoints;
};

// Waiters may leave early; equal requests share a result.
class Lookup {
 public:
  explicit Lookup(async::Loop& loop) : loop_(loop) {}

  async::Task<Addresses> find(std::string host, std::uint16_t port, async::Deadline deadline);

 private:
  struct Question;
  static void ask(const std::shared_ptr<Question>& question);

  async::Loop& loop_;
  std::map<std::string, std::shared_ptr<Question>> questions_;
};

// Keeps idle connections for later requests to the same server.
class Pool {
 public:
  explicit Pool(std::size_t most) : most_(most) {}

  // The most recently used open connection; null if there is none. `place` names scheme, host, port and
  // proxy.
  std::unique_ptr<Connection> take(const std::string& place);

  // Closes the oldest connections above the limit.
  void keep(std::string place, std::unique_ptr<Connection> connection);

 private:
  struct Idle {
    std::string place;
    std::unique_ptr<Connection> connection;
    async::SteadyClock::time_point since;
  };

  std::size_t most_;
  std::list<Idle> idle_;  // the newest first
};

// Opens connections: resolution, TCP, the proxy's CONNECT, and TLS, all within one time limit.
class Opener {
 public:
  Opener(async::Loop& loop, const ClientOptions& options) : loop_(loop), options_(options), lookup_(loop) {}

  using Opened = std::expected<std::unique_ptr<Connection>, Failure>;

  // A connection for a request to `url`, with TLS for https.
  async::Task<Opened> open(Url url, std::optional<Url> proxy);

 private:
  async::Task<Opened> reach(Url where, std::string name, async::Deadline deadline);
  async::Task<std::expected<void, Failure>> tunnel(Connection& connection, Url to, Url proxy,
                                                   async::Deadline deadline);
  async::Task<std::expected<void, Failure>> secure(Connection& connection, Url to, async::Deadline deadline);

  async::Loop& loop_;
  const ClientOptions& options_;
  Lookup lookup_;
  std::shared_ptr<TlsContext> tls_;  // made for the first https request
};

}  // namespace kw::http
