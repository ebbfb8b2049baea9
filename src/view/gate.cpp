#include "view/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/async/loop.h"
#include "base/core/crypto.h"
#include "base/core/text.h"
#include "base/http/url.h"

namespace kw::view {
namespace {

constexpr double wrong_keys_per_second = 0.2;
constexpr std::size_t secret_digits = 32;

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

bool is_read(const http::Request& head) {
  return head.method == "GET" || head.method == "HEAD";
}

std::size_t times(const http::Headers& headers, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(headers, [&](const http::Header& each) { return iequals(each.name, name); }));
}

// The value of a cookie of that name; empty if there is none.
std::string_view cookie_value(const http::Headers& headers, std::string_view name) {
  for (const http::Header& each : headers) {
    if (!iequals(each.name, "Cookie")) continue;
    std::string_view left = each.value;
    while (!left.empty()) {
      std::string_view pair = trim(left.substr(0, left.find(';')));
      left.remove_prefix(
          std::min(left.size(), left.find(';') == left.npos ? left.size() : left.find(';') + 1));
      std::size_t equals = pair.find('=');
      if (equals != pair.npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
    }
  }
  return {};
}

bool carries_key(const http::Headers& headers) {
  return !http::header(headers, "Authorization").empty() || !http::header(headers, "X-API-Key").empty();
}

}  // namespace

std::string random_secret() {
  return sha256_hex(random_bytes(32)).substr(0, secret_digits);
}

std::string host_of(std::string_view authority) {
  std::string_view host = authority;
  std::string_view port;
  if (host.starts_with('[')) {
    std::size_t end = host.find(']');
    if (end == host.npos) return {};
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
    if (!host.contains(':')) return {};
  } else {
    std::size_t colon = std::min(host.find(':'), host.size());
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (!port.empty() && (port.size() > 6 || port[0] != ':' || !std::ranges::all_of(port.substr(1), is_digit)))
    return {};
  if (host.ends_with('.')) host.remove_suffix(1);
  auto is_part = [](char c) { return is_word(c) || c == '.' || c == '-' || c == ':'; };
  return std::ranges::all_of(host, is_part) ? lower(host) : std::string();
}

// A cookie belongs to a host, not to a port: the name keeps several servers apart.
Gate::Gate(GateOptions options)
    : options_(std::move(options)),
      key_(options_.key),
      ticket_(options_.key.empty() ? std::string() : random_secret()),
      session_(random_secret()),
      token_(random_secret()),
      cookie_name_("kernelwright_view_" + random_secret().substr(0, 8)),
      wrong_keys_(wrong_keys_per_second) {}

bool Gate::is_ours(std::string_view host) const {
  if (host.empty()) return false;
  if (http::is_loopback(host)) return true;
  if (options_.any_address && http::is_address(host)) return true;
  return std::ranges::find(options_.hosts, host) != options_.hosts.end();
}

// A page of another site can send requests here, and by DNS rebinding under a name of its own: its Host,
// Origin or Sec-Fetch-Site gives it away.
std::optional<GateError> Gate::refuse_place(const http::Request& head) const {
  std::string_view host = http::header(head.headers, "Host");
  if (times(head.headers, "Host") != 1 || host_of(host).empty())
    return GateError{400, "invalid", "a request needs one Host header"};
  if (!is_ours(host_of(host)))
    return GateError{421, "wrong_host",
                     fmt::format("{} is no name of this server; --allow-host adds a name",
                                 to_plain_text(shorten(host, 100)))};
  if (std::string_view origin = http::header(head.headers, "Origin"); !origin.empty()) {
    bool is_same = times(head.headers, "Origin") == 1 && (iequals(origin, fmt::format("http://{}", host)) ||
                                                          iequals(origin, fmt::format("https://{}", host)));
    if (!is_same) return GateError{403, "wrong_origin", "requests of other sites are refused"};
  }
  std::string_view site = http::header(head.headers, "Sec-Fetch-Site");
  bool is_page = is_read(head) && path_of(head.url) == "/";
  if (!site.empty() && !is_page && site != "same-origin" && site != "none")
    return GateError{403, "wrong_origin", "requests of other sites are refused"};
  return {};
}

bool Gate::has_cookie(const http::Request& head) const {
  std::string_view given = cookie_value(head.headers, cookie_name_);
  return !given.empty() && http::KeyCheck(session_).matches(given);
}

bool Gate::is_known(const http::Request& head) const {
  return options_.key.empty() || key_.admits(head.headers) || has_cookie(head);
}

// Who has tried too many keys is refused whatever the next one is: the answer would tell whether it is right.
std::optional<GateError> Gate::refuse_guess(const http::Request& head) {
  const bool is_form = head.method == "POST" && path_of(head.url) == "/enter";
  if (options_.key.empty() || has_cookie(head) || (!carries_key(head.headers) && !is_form)) return {};
  const auto now = async::SteadyClock::now();
  if (wrong_keys_.is_spent(head.peer, now))
    return GateError{429, "too_many_requests", "too many keys were tried: wait a minute"};
  if (carries_key(head.headers) && !key_.admits(head.headers)) wrong_keys_.seconds_to_wait(head.peer, now);
  return {};
}

std::optional<GateError> Gate::refusal(const http::Request& head) {
  if (auto place = refuse_place(head)) return place;
  bool is_write = head.method == "POST";
  if (!is_read(head) && !is_write)
    return GateError{405, "method_not_allowed", "the server takes GET, HEAD and POST"};
  std::string_view path = path_of(head.url);
  // Without the key, "/" is the form that asks for it.
  bool is_open = path == "/" || (is_write && path == "/enter");
  if (auto guess = refuse_guess(head)) return guess;
  if (!is_known(head) && !is_open)
    return GateError{401, "unauthorized", "open the page with the printed URL, or enter the key there"};
  if (is_write && path != "/enter" &&
      !http::KeyCheck(token_).matches(http::header(head.headers, "X-Kernelwright-Token")))
    return GateError{403, "no_token", "a write needs the page's token"};
  return {};
}

std::string Gate::cookie() const {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}", cookie_name_, session_,
                     options_.secure ? "; Secure" : "");
}

std::optional<std::string> Gate::exchange_ticket(std::string_view ticket) {
  if (ticket_.empty() || ticket.empty() || !http::KeyCheck(ticket_).matches(ticket)) return {};
  ticket_.clear();
  return cookie();
}

std::optional<std::string> Gate::exchange_key(std::string_view key, std::string_view peer) {
  if (options_.key.empty()) return {};
  if (key_.matches(key)) return cookie();
  wrong_keys_.seconds_to_wait(peer, async::SteadyClock::now());
  return {};
}

}  // namespace kw::view
