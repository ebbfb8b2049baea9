// An HTTP/1.1 client: kept-alive connections, TLS, redirects, a CONNECT proxy, bodies in pieces; and delays
// before retries, for a busy or unreachable server.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/http/message.h"

namespace kw::http {

// An HTTP/1.1 client: kept-alive connections, TLS, redirects, a CONNECT proxy, bodies in pieces.
enum class Fault {
  bad_url,      // the URL itself, or a scheme that is not http or https
  unreachable,  // unknown host, connection refused
  tls,          // certificate or handshake
  timeout,      // the deadline, or no byte for too long
  broken,       // the connection ended within the response
  malformed,    // not HTTP
  too_large,    // over Limits
  redirected,   // too often, or to a refused address
  proxy,        // the proxy refused
  stopped       // by Stop
};

struct Failure {
  Fault fault = Fault::broken;
  std::string what;       // names the host, never a key
  std::string remedy;     // or empty
  bool answered = false;  // the response had begun
};

struct ClientOptions {
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds idle_timeout{600'000};  // without a byte; a long prompt takes minutes
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::size_t max_header_bytes = std::size_t{64} << 10;
  std::size_t idle_connections = 256;  // kept open for the next request, over all hosts
  unsigned max_redirects = 5;
  std::string ca_file{};              // empty: SSL_CERT_FILE, else the usual places of Linux distributions
  bool use_environment_proxy = true;  // https_proxy, http_proxy, all_proxy, no_proxy; never for loopback
  std::string user_agent = "kernelwright";
};

// Called with each part of a 2xx body as it arrives; false ends the request early, as a success. With this
// function such a body is not collected in Response::body; bodies of other statuses always are.
using OnBody = std::function<bool(std::string_view piece)>;

class Client {
 public:
  Client(async::Loop& loop, ClientOptions options = {});
  ~Client();

  // One request. If the server closed a kept-alive connection before its first byte, the client retries once
  // on a fresh one; it retries nothing else. `request` must outlive the wait. A redirect to another host
  // removes every header that could be a secret; 301, 302 and 303 turn POST into GET, 307 and 308 keep it.
  async::Task<std::expected<Response, Failure>> send(const Request& request, async::Deadline deadline,
                                                     async::Stop* stop, OnBody on_body = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Delays before retries, for a busy or unreachable server.
struct BackoffOptions {
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds most{30'000};
};

// Exponential with full jitter: a random delay up to first * 2^n, so that clients that failed together do
// not retry together.
class Backoff {
 public:
  explicit Backoff(BackoffOptions options) : options_(options) {}

  // `wished` is the server's delay: used up to four times `most`, with some jitter added.
  std::chrono::milliseconds next(std::optional<std::chrono::milliseconds> wished, std::mt19937_64& random);

 private:
  BackoffOptions options_;
  unsigned tries_ = 0;
};

// The delay from Retry-After, in seconds or as a date, or from OpenAI's retry-after-ms; empty if missing or
// invalid.
std::optional<std::chrono::milliseconds> retry_after(const http::Headers& headers,
                                                     std::chrono::system_clock::time_point now);

}  // namespace kw::http
