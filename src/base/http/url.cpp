#include "base/http/url.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/core/text.h"

namespace kw::http {

namespace {

constexpr std::string_view kRemedy = "a URL looks like http://localhost:8000/v1";

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::uint16_t own_port(std::string_view scheme) {
  return scheme == "https" ? 443 : 80;
}

std::string bracketed(std::string_view host) {
  return host.contains(':') ? fmt::format("[{}]", host) : std::string(host);
}

// An invalid URL for messages: without the text before an @, which may be a password.
std::string shown(std::string_view text) {
  std::size_t at = text.rfind('@');
  return to_plain_text(shorten(at == std::string_view::npos ? text : text.substr(at + 1), 200));
}

// The target without its fragment, which is never sent; bytes beyond ASCII are escaped.
std::string clean_target(std::string_view text) {
  text = text.substr(0, text.find('#'));
  std::string result = text.starts_with('/') ? "" : "/";
  for (char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80)
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result;
}

bool host_is_sane(std::string_view host) {
  if (host.empty()) return false;
  if (host.contains(':')) return is_address(host);
  constexpr std::string_view other = "-._";
  return std::ranges::all_of(
      host, [&](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || other.contains(c); });
}

struct HostPort {
  std::string host;
  std::uint16_t port;
};

std::optional<HostPort> split_host(std::string_view text, std::uint16_t otherwise) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!host.contains(':')) return std::nullopt;
  } else if (std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
    if (host.contains(':')) return std::nullopt;
  }
  HostPort result{lower(host), otherwise};
  if (!host_is_sane(result.host)) return std::nullopt;
  if (port.empty() || port == ":") return result;
  if (port.front() != ':') return std::nullopt;
  port.remove_prefix(1);
  auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (error != std::errc() || end != port.data() + port.size() || result.port == 0) return std::nullopt;
  return result;
}

// "/a/b/../c" is "/a/c".
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool folder = false;
  while (!path.empty()) {
    path.remove_prefix(1);
    std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    folder = part == "." || part == "..";
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!folder) kept.push_back(part);
  }
  std::string result;
  for (std::string_view part : kept) result.append("/").append(part);
  return folder || result.empty() ? result + "/" : result;
}

}  // namespace

std::string Url::host_header() const {
  return port == own_port(scheme) ? bracketed(host) : authority();
}
std::string Url::authority() const {
  return fmt::format("{}:{}", bracketed(host), port);
}
std::string Url::origin() const {
  return fmt::format("{}://{}", scheme, authority());
}
std::string Url::absolute() const {
  return fmt::format("{}://{}{}", scheme, host_header(), target);
}

Result<Url> parse_url(std::string_view text) {
  text = trim(text);
  std::size_t mark = text.find("://");
  if (mark == std::string_view::npos)
    return fail(fmt::format("\"{}\" is not a URL: it does not begin with http:// or https://", shown(text)),
                fmt::format("write http://{}, or https:// where the server has a certificate", shown(text)));
  Url url;
  url.scheme = lower(text.substr(0, mark));
  std::string_view rest = text.substr(mark + 3);
  std::size_t slash = rest.find_first_of("/?#");
  std::string_view authority = rest.substr(0, slash);
  std::string_view target = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash);
  if (std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    url.userinfo = percent_decoded(authority.substr(0, at));
    authority.remove_prefix(at + 1);
  }
  if (url.scheme != "http" && url.scheme != "https")
    return fail(
        fmt::format("the scheme of {}://{} is neither http nor https", shown(url.scheme), shown(authority)),
        std::string(kRemedy));
  if (std::ranges::any_of(text, [](char c) { return is_control(c) || c == ' '; }))
    return fail(fmt::format("the URL of {} contains a space or a control character", shown(authority)),
                "write %20 for a space");
  auto host = split_host(authority, own_port(url.scheme));
  if (!host)
    // Shows only the text after the last @: a password with a slash has ended the authority too early.
    return fail(fmt::format("\"{}\" does not begin with a host and a port", shown(rest)),
                std::string(kRemedy));
  url.host = std::move(host->host);
  url.port = host->port;
  url.target = clean_target(target);
  return url;
}

Result<Url> join(const Url& base, std::string_view reference) {
  reference = trim(reference);
  if (std::size_t mark = reference.find("://");
      mark != std::string_view::npos && reference.find_first_of("/?#") == mark + 1)
    return parse_url(reference);
  if (reference.starts_with("//")) return parse_url(fmt::format("{}:{}", base.scheme, reference));
  std::string_view path(base.target);
  path = path.substr(0, path.find('?'));
  std::string target;
  if (reference.empty() || reference.starts_with('#')) {
    target = base.target;
  } else if (reference.starts_with('?')) {
    target = fmt::format("{}{}", path, reference);
  } else {
    std::string whole = reference.starts_with('/')
                            ? std::string(reference)
                            : fmt::format("{}{}", path.substr(0, path.rfind('/') + 1), reference);
    std::size_t query = std::min(whole.find_first_of("?#"), whole.size());
    target = without_dots(std::string_view(whole).substr(0, query)) + whole.substr(query);
  }
  return parse_url(fmt::format("{}{}", base.origin(), target));
}

bool is_address(std::string_view host) {
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(host), error);
  return !error;
}

bool is_loopback(std::string_view host) {
  if (iequals(host, "localhost") || lower(host).ends_with(".localhost")) return true;
  boost::system::error_code error;
  auto address = boost::asio::ip::make_address(std::string(host), error);
  return !error && address.is_loopback();
}

std::string basic_credentials(std::string_view userinfo) {
  std::string encoded(4 * ((userinfo.size() + 2) / 3) + 1, '\0');
  int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                               reinterpret_cast<const unsigned char*>(userinfo.data()),
                               static_cast<int>(userinfo.size()));
  encoded.resize(static_cast<std::size_t>(length));
  return "Basic " + encoded;
}

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

// "example.com" and ".example.com" cover the host and its subdomains; "[::1]:80" and "host:80" cover one
// port.
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
