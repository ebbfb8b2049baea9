// URLs as the client understands them: http and https, IPv4, IPv6 in brackets, names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::http {

struct Url {
  std::string scheme;    // "http" or "https"
  std::string userinfo;  // "name:password", percent-decoded; a secret, never shown
  std::string host;      // lower case, IPv6 without its brackets
  std::uint16_t port = 0;
  std::string target;  // "/path?query", never empty, without the fragment

  bool secure() const { return scheme == "https"; }
  // "host", or "host:port" where the port is not the scheme's own: what the Host header says.
  std::string host_header() const;
  // "host:port", IPv6 in brackets: what CONNECT asks for.
  std::string authority() const;
  // "scheme://host:port", without userinfo: for messages.
  std::string origin() const;
  // The whole of it without userinfo: what a proxy is asked for.
  std::string absolute() const;
};

// An absolute URL. The error says what is wrong with it and never repeats a password.
Result<Url> parse_url(std::string_view text);

// `reference`, absolute or relative, as seen from `base`: how a Location header is read.
Result<Url> join(const Url& base, std::string_view reference);

// localhost, 127.0.0.0/8 and ::1.
bool is_loopback(std::string_view host);

// IPv4 or IPv6, without brackets.
bool is_address(std::string_view host);

// User and password from "name:password" as HTTP's basic scheme sends them.
std::string basic_credentials(std::string_view userinfo);

}  // namespace kw::http
