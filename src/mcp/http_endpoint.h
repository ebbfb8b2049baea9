// The transport over HTTP: "streamable HTTP" of the protocol at /mcp, with sessions.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/http/message.h"
#include "base/http/served_names.h"
#include "base/http/server.h"
#include "mcp/session.h"

namespace kw::mcp {

struct HttpOptions {
  std::string key{};          // empty: none is needed
  http::ServedNames names{};  // under which clients reach the server
  std::size_t most_sessions = 32;
  // A session without calls ends after this time, and earlier if another client needs its place.
  std::chrono::milliseconds session_idle = std::chrono::minutes(30);
  // A comment on a silent stream, so that a proxy keeps it.
  std::chrono::milliseconds heartbeat = std::chrono::seconds(15);
};

class HttpEndpoint {
 public:
  // `stop` and the offer must outlive the endpoint and its answers.
  HttpEndpoint(async::Loop& loop, async::Stop& stop, const Offer& offer, HttpOptions options);
  ~HttpEndpoint();

  async::Task<> handle(const http::Request& request, http::Responder& responder);
  // For http::ServerOptions: refuses by the header, before a body is read.
  std::optional<http::Response> turn_away(const http::Request& head);

  std::size_t sessions() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The response for http::ServerOptions::refusal, of requests that were not read.
http::Response unread_response(int status);

}  // namespace kw::mcp
