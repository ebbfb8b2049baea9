// Fresh connections: address, TCP, the proxy's CONNECT, TLS, all within one limit.
#pragma once

#include <expected>
#include <memory>
#include <optional>

#include "http/client.h"
#include "http/connection.h"
#include "http/lookup.h"
#include "http/proxy.h"

namespace kw::http {

class Opener {
 public:
  Opener(async::Loop& loop, const ClientOptions& options) : loop_(loop), options_(options), lookup_(loop) {}

  using Opened = std::expected<std::unique_ptr<Connection>, Failure>;

  // Ready for a request to `url`: under TLS where it is https.
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
