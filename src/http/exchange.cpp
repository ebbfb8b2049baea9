#include "http/exchange.h"

#include <fmt/format.h>

#include <boost/asio/error.hpp>

#include "base/ascii.h"

namespace kw::http {

namespace {

// So much of a body travels with the header in one packet or a few.
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
  // A server may answer and close before it has read all: what it said is still there to read.
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
    // How long a body is and how it travels is ours to say.
    if (!iequals(own.name, "Content-Length") && !iequals(own.name, "Transfer-Encoding"))
      headers.push_back(own);
  return headers;
}

}  // namespace kw::http
