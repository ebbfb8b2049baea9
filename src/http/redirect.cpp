#include "http/redirect.h"

#include <fmt/format.h>

#include "base/ascii.h"

namespace kw::http {

namespace {

std::unexpected<Failure> refused(std::string what, std::string remedy) {
  return std::unexpected(Failure{Fault::redirected, std::move(what), std::move(remedy), true});
}

// The same server under TLS is still the one that the key was meant for.
bool may_keep_secrets(const Url& from, const Url& to) {
  if (from.host != to.host) return false;
  bool same = from.scheme == to.scheme && from.port == to.port;
  return same || (!from.secure() && to.secure() && from.port == 80 && to.port == 443);
}

void drop(Headers& headers, std::initializer_list<std::string_view> names) {
  std::erase_if(headers, [&](const Header& header) {
    return std::ranges::any_of(names, [&](std::string_view name) { return iequals(header.name, name); });
  });
}

// Services have headers of their own for keys, so what another host may see is named, not what it may not.
void keep_harmless(Headers& headers) {
  constexpr std::string_view harmless[] = {"Accept", "Accept-Encoding", "Accept-Language", "Content-Type",
                                           "User-Agent"};
  std::erase_if(headers, [&](const Header& header) {
    return std::ranges::none_of(harmless, [&](std::string_view name) { return iequals(header.name, name); });
  });
}

bool becomes_get(int status, const std::string& method) {
  if (status == 303) return method != "HEAD";
  return (status == 301 || status == 302) && method == "POST";
}

}  // namespace

bool is_redirect(const Response& response) {
  switch (response.status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return !header(response.headers, "Location").empty();
    default:
      return false;
  }
}

std::expected<Hop, Failure> follow(const Hop& hop, const Response& response) {
  auto to = join(hop.url, header(response.headers, "Location"));
  if (!to)
    return refused(fmt::format("{} redirects to what is no URL: {}", hop.url.origin(), to.error().what),
                   "give the address that the server means");
  if (hop.url.secure() && !to->secure())
    return refused(fmt::format("{} redirects to {}, without TLS", hop.url.origin(), to->origin()),
                   "if that is meant, give its address yourself");
  Hop next{std::move(*to), hop.method, hop.headers, hop.with_body};
  if (!may_keep_secrets(hop.url, next.url))
    keep_harmless(next.headers);
  else if (next.url.userinfo.empty())
    next.url.userinfo = hop.url.userinfo;
  if (becomes_get(response.status, hop.method)) {
    next.method = "GET";
    next.with_body = false;
    drop(next.headers, {"Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding"});
  }
  return next;
}

}  // namespace kw::http
