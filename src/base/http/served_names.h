// The names under which a server is reached, and the refusal of requests that a page of another site sends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http/message.h"

namespace kw::http {

struct ServedNames {
  std::vector<std::string> hosts{};  // beside those of loopback, in lower case
  bool any_host = false;             // a key protects the server: a page under another name does not have it
  bool any_address = false;          // listens beyond loopback: a Host that is an address is this machine
};

// The reason for a refusal.
struct RequestError {
  int status = 403;
  std::string error_class;
  std::string message;
};

// A page of another site can send requests to a server of this machine, and by DNS rebinding under a name of
// its own: Host, Origin or Sec-Fetch-Site tell. `is_page`: a link of another site may open this target.
std::optional<RequestError> refuse_other_sites(const Request& head, const ServedNames& names,
                                               bool is_page = false);

// The host of a Host header or of an origin's authority, in lower case and without port and brackets; empty
// if it is invalid.
std::string host_of(std::string_view authority);

}  // namespace kw::http
