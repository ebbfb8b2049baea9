#include "http/proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/ascii.h"
#include "base/text.h"

namespace kw::http {

namespace {

std::string first_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return {};
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    std::size_t end = std::min(text.find_first_of(", "), text.size());
    if (end > 0) parts.push_back(lower(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// "example.com" and ".example.com" cover the host and what lies below it; "[::1]:80" and "host:80" one port.
bool covers(std::string_view entry, const Url& url) {
  if (entry == "*") return true;
  if (entry == url.host || entry == url.authority()) return true;
  std::string port = fmt::format(":{}", url.port);
  if (entry.ends_with(port) && std::ranges::count(entry, ':') == 1) entry.remove_suffix(port.size());
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  if (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.empty()) return false;
  return entry == url.host || url.host.ends_with(fmt::format(".{}", entry));
}

}  // namespace

ProxySettings proxies_from_environment() {
  return {.http = first_of({"http_proxy", "all_proxy", "ALL_PROXY"}),
          .https = first_of({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}),
          .except = split_list(first_of({"no_proxy", "NO_PROXY"}))};
}

Result<std::optional<Url>> proxy_for(const ProxySettings& settings, const Url& url) {
  const std::string& named = url.secure() ? settings.https : settings.http;
  if (named.empty() || is_loopback(url.host)) return std::nullopt;
  if (std::ranges::any_of(settings.except, [&](const std::string& entry) { return covers(entry, url); }))
    return std::nullopt;
  auto proxy = parse_url(named.contains("://") ? named : "http://" + named);
  if (proxy && proxy->scheme == "http") return std::optional<Url>(std::move(*proxy));
  std::string why = proxy ? "only proxies that speak plain HTTP can be used" : proxy.error().what;
  return fail(
      fmt::format("the proxy that the environment names for {} cannot be used: {}", url.origin(), why),
      "set https_proxy or http_proxy to http://host:port, or no_proxy to the server's host");
}

}  // namespace kw::http
