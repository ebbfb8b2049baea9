#include "view/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/async/loop.h"
#include "base/core/text.h"

namespace kw::view {
namespace {

constexpr double wrong_keys_per_second = 0.2;

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

bool is_read(const http::Request& head) {
  return head.method == "GET" || head.method == "HEAD";
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

// A cookie belongs to a host, not to a port: the name keeps several servers apart.
Gate::Gate(GateOptions options)
    : options_(std::move(options)),
      key_(options_.key),
      ticket_(options_.key.empty() ? std::string() : http::random_secret()),
      session_(http::random_secret()),
      token_(http::random_secret()),
      cookie_name_("kernelwright_view_" + http::random_secret().substr(0, 8)),
      wrong_keys_(wrong_keys_per_second) {}

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
  const bool is_page = is_read(head) && path_of(head.url) == "/";
  if (auto other = http::refuse_other_sites(head, options_.names, is_page)) return other;
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
