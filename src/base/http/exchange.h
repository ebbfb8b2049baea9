// One request and its response on an open connection, and the next request that a redirect asks for.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/http/client.h"
#include "base/http/connection.h"
#include "base/http/parser.h"
#include "base/http/url.h"

namespace kw::http {

// A request, changed by redirects.
struct Hop {
  Url url;
  std::string method;
  Headers headers;
  bool with_body = true;
};

bool is_redirect(const Response& response);

// The next request; a Failure if the redirect is refused.
std::expected<Hop, Failure> follow(const Hop& hop, const Response& response);

// A failure before the first byte of the response.
inline std::unexpected<Failure> failed(Fault fault, std::string what, std::string remedy = {}) {
  return std::unexpected(Failure{fault, std::move(what), std::move(remedy), false});
}

struct Exchange {
  Connection* connection = nullptr;
  std::string name;  // of the server, for messages
  std::string head;
  std::string_view body;
  bool to_head = false;
  const OnBody* on_body = nullptr;
  Limits limits;
  std::chrono::milliseconds idle{0};
  bool* answered = nullptr;  // set at the first byte, even if the wait is cancelled later
};

struct Answer {
  Response response;
  bool reusable = false;  // the connection
};

async::Task<std::expected<Answer, Failure>> exchange(Exchange what);

// The headers of a request: the caller's, and those of every request.
Headers outgoing_headers(const Headers& given, const std::string& host, const std::string& user_agent);

}  // namespace kw::http
