// Where an answer of 3xx sends a request, and what of it goes along.
#pragma once

#include <expected>
#include <optional>

#include "http/client.h"
#include "http/url.h"

namespace kw::http {

// A request on its way, changed by redirects.
struct Hop {
  Url url;
  std::string method;
  Headers headers;
  bool with_body = true;
};

bool is_redirect(const Response& response);

// The next hop; a Failure where we do not follow.
std::expected<Hop, Failure> follow(const Hop& hop, const Response& response);

}  // namespace kw::http
