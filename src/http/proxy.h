// Which proxy a URL goes through, by the environment variables that most programs read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "http/url.h"

namespace kw::http {

struct ProxySettings {
  std::string http;  // a URL, or "host:port"; may hold a password; empty: none
  std::string https;
  std::vector<std::string> except;  // hosts, ".suffixes", "host:port", "*"
};

// https_proxy, HTTPS_PROXY, http_proxy, all_proxy, ALL_PROXY, no_proxy, NO_PROXY. HTTP_PROXY is not read: a
// CGI server sets it from a header that a stranger sends.
ProxySettings proxies_from_environment();

// None for loopback and for what is excepted. An error where the proxy named is not one that we can use.
Result<std::optional<Url>> proxy_for(const ProxySettings& settings, const Url& url);

}  // namespace kw::http
