// URLs of the client (http and https; IPv4, IPv6 in brackets, names), and the proxy of a URL from the usual
// environment variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw::http {

// URLs of the client: http and https; IPv4, IPv6 in brackets, names.
struct Url {
  std::string scheme;    // "http" or "https"
  std::string userinfo;  // "name:password", percent-decoded; a secret, never shown
  std::string host;      // lower case, IPv6 without its brackets
  std::uint16_t port = 0;
  std::string target;  // "/path?query", never empty, without the fragment

  bool secure() const { return scheme == "https"; }
  // "host", or "host:port" unless the port is the scheme's default: the Host header.
  std::string host_header() const;
  // "host:port", IPv6 in brackets: the target of CONNECT.
  std::string authority() const;
  // "scheme://host:port", without userinfo: for messages.
  std::string origin() const;
  // The complete URL without userinfo: the request target for a proxy.
  std::string absolute() const;
};

// Parses an absolute URL. The error never contains a password.
Result<Url> parse_url(std::string_view text);

// Resolves `reference`, absolute or relative, against `base`, as for a Location header.
Result<Url> join(const Url& base, std::string_view reference);

// localhost, 127.0.0.0/8 and ::1.
bool is_loopback(std::string_view host);

// IPv4 or IPv6, without brackets.
bool is_address(std::string_view host);

// User and password from "name:password" as HTTP's basic scheme sends them.
std::string basic_credentials(std::string_view userinfo);

// The proxy of a URL, from the usual environment variables.
struct ProxySettings {
  std::string http;  // a URL, or "host:port"; may hold a password; empty: none
  std::string https;
  std::vector<std::string> except;  // hosts, ".suffixes", "host:port", "*"
};

// https_proxy, HTTPS_PROXY, http_proxy, all_proxy, ALL_PROXY, no_proxy, NO_PROXY. Does not read HTTP_PROXY:
// a CGI server sets it from a client's header.
ProxySettings proxies_from_environment();

// None for loopback and for hosts in no_proxy. An error if the proxy's URL is unusable.
Result<std::optional<Url>> proxy_for(const ProxySettings& settings, const Url& url);

}  // namespace kw::http
