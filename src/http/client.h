// An HTTP/1.1 client: kept-alive connections, TLS, redirects, a CONNECT proxy, bodies in pieces.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "async/loop.h"
#include "async/stop.h"
#include "http/message.h"

namespace kw::http {

enum class Fault {
  bad_url,      // the URL itself, or a scheme that is not http or https
  unreachable,  // no such host, connection refused
  tls,          // certificate or handshake
  timeout,      // the deadline, or no byte for too long
  broken,       // the connection ended in mid-answer
  malformed,    // not HTTP
  too_large,    // over Limits
  redirected,   // too often, or to somewhere we do not follow
  proxy,        // the proxy refused
  stopped       // by Stop
};

struct Failure {
  Fault fault = Fault::broken;
  std::string what;       // names the host, never a key
  std::string remedy;     // or empty
  bool answered = false;  // some byte of an answer had come
};

struct ClientOptions {
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds idle_timeout{600'000};  // no byte for so long; a long prompt takes its time
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::size_t max_header_bytes = std::size_t{64} << 10;
  std::size_t idle_connections = 256;  // kept open for the next request, over all hosts
  unsigned max_redirects = 5;
  std::string ca_file{};              // empty: SSL_CERT_FILE, else where Linux distributions keep theirs
  bool use_environment_proxy = true;  // https_proxy, http_proxy, all_proxy, no_proxy; never for loopback
  std::string user_agent = "kernelwright";
};

// Called with each piece of a 2xx body as it comes; false ends the request early, as a success. Where it is
// given, such a body is not collected in Response::body; bodies of other statuses always are.
using OnBody = std::function<bool(std::string_view piece)>;

class Client {
 public:
  Client(async::Loop& loop, ClientOptions options = {});
  ~Client();

  // One request. A kept-alive connection that the server closed before its first byte is tried again once on
  // a fresh one; nothing else is tried again. `request` must outlive the wait. A redirect to another host
  // loses every header that could be a secret; 301, 302 and 303 turn POST into GET, 307 and 308 keep it.
  async::Task<std::expected<Response, Failure>> send(const Request& request, async::Deadline deadline,
                                                     async::Stop* stop, OnBody on_body = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::http
