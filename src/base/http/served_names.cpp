#include "base/http/served_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/http/url.h"

namespace kw::http {
namespace {

std::size_t times(const Headers& headers, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(headers, [&](const Header& each) { return iequals(each.name, name); }));
}

bool is_ours(std::string_view host, const ServedNames& names) {
  if (host.empty()) return false;
  if (is_loopback(host)) return true;
  if (names.any_address && is_address(host)) return true;
  return std::ranges::find(names.hosts, host) != names.hosts.end();
}

}  // namespace

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

std::optional<RequestError> refuse_other_sites(const Request& head, const ServedNames& names, bool is_page) {
  std::string_view host = header(head.headers, "Host");
  if (!names.any_host && (times(head.headers, "Host") != 1 || host_of(host).empty()))
    return RequestError{400, "invalid", "a request needs one Host header"};
  if (!names.any_host && !is_ours(host_of(host), names))
    return RequestError{421, "wrong_host",
                        fmt::format("{} is no name of this server; --allow-host adds a name",
                                    to_plain_text(shorten(host, 100)))};
  if (std::string_view origin = header(head.headers, "Origin"); !origin.empty()) {
    bool is_same = times(head.headers, "Origin") == 1 && (iequals(origin, fmt::format("http://{}", host)) ||
                                                          iequals(origin, fmt::format("https://{}", host)));
    if (!is_same) return RequestError{403, "wrong_origin", "requests of other sites are refused"};
  }
  std::string_view site = header(head.headers, "Sec-Fetch-Site");
  if (!site.empty() && !is_page && site != "same-origin" && site != "none")
    return RequestError{403, "wrong_origin", "requests of other sites are refused"};
  return {};
}

}  // namespace kw::http
