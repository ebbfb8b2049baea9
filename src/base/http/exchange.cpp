#include "base/http/exchange.h"

#include <fmt/format.h>

#include <boost/asio/error.hpp>

#include "base/core/text.h"

namespace kw::http {

namespace {

std::unexpected<Failure> refused(std::string what, std::string remedy) {
  return std::unexpected(Failure{Fault::redirected, std::move(what), std::move(remedy), true});
}

// The same scheme and server, or the same host upgraded from http to https on the default ports.
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

// A list of allowed headers, since services may use any header for a key.
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

namespace {

// The part of a body that is sent together with the header.
constexpr std::size_t kFirstPiece = std::size_t{16} << 10;

async::Task<error_code> write_request(Exchange& what) {
  std::string first = std::move(what.head);
  first.append(what.body.substr(0, kFirstPiece));
  auto error = co_await what.connection->write(first, what.idle);
  if (error || what.body.size() <= kFirstPiece) co_return error;
  co_return co_await what.connection->write(what.body.substr(kFirstPiece), what.idle);
}

std::unexpected<Failure> failed(const Exchange& what, Fault fault, std::string text,
                                std::string remedy = {}) {
  return std::unexpected(Failure{fault, std::move(text), std::move(remedy), *what.answered});
}

std::unexpected<Failure> too_slow(const Exchange& what) {
  double seconds = std::chrono::duration<double>(what.idle).count();
  return failed(what, Fault::timeout, fmt::format("{} was silent for {} s", what.name, seconds),
                "allow more time, or see whether the server is stuck");
}

std::unexpected<Failure> broken(const Exchange& what, const error_code& error) {
  std::string_view when = *what.answered ? "in mid-answer" : "before it answered";
  std::string why = is_end(error) ? std::string() : fmt::format(": {}", error.message());
  return failed(what, Fault::broken, fmt::format("{} closed the connection {}{}", what.name, when, why),
                "its log may say why");
}

std::unexpected<Failure> parse_failure(const Exchange& what, ParseFault fault, const std::string& problem) {
  switch (fault) {
    case ParseFault::header_too_large:
      return failed(what, Fault::too_large,
                    fmt::format("the header of the answer of {} is over {} bytes", what.name,
                                what.limits.header_bytes));
    case ParseFault::body_too_large:
      return failed(what, Fault::too_large,
                    fmt::format("the answer of {} is over {} bytes", what.name, what.limits.body_bytes));
    case ParseFault::ended:
      return broken(what, boost::asio::error::eof);
    case ParseFault::malformed:
    case ParseFault::none:
      break;
  }
  return failed(what, Fault::malformed, fmt::format("{} does not answer in HTTP/1.1: {}", what.name, problem),
                "see whether the port is right, and whether the server wants https");
}

}  // namespace

async::Task<std::expected<Answer, Failure>> exchange(Exchange what) {
  ResponseParser parser(what.limits, what.to_head, what.on_body);
  auto unsent = co_await write_request(what);
  if (unsent == boost::asio::error::timed_out) co_return too_slow(what);
  // Also after a failed write: a server may answer and close before it has read the complete request.
  while (!parser.done() && !parser.ended_early()) {
    auto read = co_await what.connection->read(parser.space(), async::Deadline::in(what.idle));
    ParseFault fault = ParseFault::none;
    if (!read.error) {
      *what.answered = true;
      fault = parser.took(read.bytes);
    } else if (read.error == boost::asio::error::timed_out) {
      co_return too_slow(what);
    } else if (is_end(read.error) && parser.answered()) {
      fault = parser.ended(read.error == boost::asio::error::eof);
    } else {
      co_return broken(what, unsent ? unsent : read.error);
    }
    if (fault != ParseFault::none) co_return parse_failure(what, fault, parser.problem());
  }
  bool reusable = parser.reusable() && !unsent;
  co_return Answer{parser.take(), reusable};
}

Headers outgoing_headers(const Headers& given, const std::string& host, const std::string& user_agent) {
  Headers headers;
  for (const auto& [name, value] : Headers{
           {"Host", host}, {"User-Agent", user_agent}, {"Accept", "*/*"}, {"Accept-Encoding", "identity"}})
    if (std::ranges::none_of(given, [&](const Header& own) { return iequals(own.name, name); }))
      headers.push_back({name, value});
  for (const Header& own : given)
    // The client itself determines the length and the encoding of the body.
    if (!iequals(own.name, "Content-Length") && !iequals(own.name, "Transfer-Encoding"))
      headers.push_back(own);
  return headers;
}

}  // namespace kw::http
