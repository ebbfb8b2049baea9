// One request and its answer on a connection that stands.
#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

#include "http/client.h"
#include "http/connection.h"
#include "http/parser.h"

namespace kw::http {

struct Exchange {
  Connection* connection = nullptr;
  std::string name;  // of the server, for messages
  std::string head;
  std::string_view body;
  bool to_head = false;
  const OnBody* on_body = nullptr;
  Limits limits;
  std::chrono::milliseconds idle{0};
  bool* answered = nullptr;  // set when the first byte comes, also where the wait is cancelled after that
};

struct Answer {
  Response response;
  bool reusable = false;  // the connection
};

async::Task<std::expected<Answer, Failure>> exchange(Exchange what);

// The headers that a request goes out with: the caller's, and those that every request has.
Headers outgoing_headers(const Headers& given, const std::string& host, const std::string& user_agent);

}  // namespace kw::http
