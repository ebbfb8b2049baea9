#include "base/http/opener.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <utility>

#include "base/async/wait.h"
#include "base/http/exchange.h"
#include "base/http/message.h"

namespace kw::http {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

namespace {

// How long an answer is reused: for a burst of requests, but not after the name has a new address.
constexpr auto kFresh = 30s;

}  // namespace

struct Lookup::Question {
  Question(async::Loop& loop, std::string name) : host(std::move(name)), resolver(loop), answered(loop) {}

  bool stale() const { return answered.is_set() && (error || async::SteadyClock::now() - at > kFresh); }

  std::string host;
  tcp::resolver resolver;
  async::Event answered;
  async::SteadyClock::time_point at;
  boost::system::error_code error;
  std::vector<boost::asio::ip::address> found;
};

void Lookup::ask(const std::shared_ptr<Question>& question) {
  auto answered = [question](boost::system::error_code error, const tcp::resolver::results_type& results) {
    question->error = error;
    for (const auto& entry : results) question->found.push_back(entry.endpoint().address());
    question->at = async::SteadyClock::now();
    question->answered.set();
  };
  // async_resolve throws if it cannot start a thread; the exception would leave the loop's run().
  try {
    question->resolver.async_resolve(question->host, "", answered);
  } catch (const boost::system::system_error& error) {
    answered(error.code(), {});
  }
}

async::Task<Addresses> Lookup::find(std::string host, std::uint16_t port, async::Deadline deadline) {
  Addresses result;
  boost::system::error_code not_literal;
  if (auto address = boost::asio::ip::make_address(host, not_literal); !not_literal) {
    result.endpoints.emplace_back(address, port);
    co_return result;
  }
  std::erase_if(questions_, [](const auto& entry) { return entry.second->stale(); });
  auto& kept = questions_[host];
  if (!kept) {
    kept = std::make_shared<Question>(loop_, host);
    ask(kept);
  }
  auto question = kept;
  bool late = (co_await async::within(deadline, nullptr, question->answered.wait())).has_value();
  result.error = late ? make_error_code(boost::asio::error::timed_out) : question->error;
  for (const auto& address : question->found) result.endpoints.emplace_back(address, port);
  co_return result;
}

using namespace std::chrono_literals;

namespace {

// Routers drop the entries of silent connections without notice: older connections are not reused.
constexpr auto kOldest = 60s;

}  // namespace

std::unique_ptr<Connection> Pool::take(const std::string& place) {
  auto oldest = async::SteadyClock::now() - kOldest;
  while (!idle_.empty() && idle_.back().since < oldest) idle_.pop_back();
  for (auto entry = idle_.begin(); entry != idle_.end();) {
    if (entry->place != place) {
      ++entry;
      continue;
    }
    auto connection = std::move(entry->connection);
    entry = idle_.erase(entry);
    // Unrequested bytes could be taken for the next response.
    if (connection->peer() == Connection::Peer::silent) return connection;
  }
  return nullptr;
}

void Pool::keep(std::string place, std::unique_ptr<Connection> connection) {
  idle_.push_front({std::move(place), std::move(connection), async::SteadyClock::now()});
  while (idle_.size() > most_) idle_.pop_back();
}

namespace {

std::unexpected<Failure> unreachable(const std::string& name, const error_code& error) {
  if (error == boost::asio::error::timed_out)
    return failed(Fault::timeout, fmt::format("{} could not be reached in time", name),
                  "see whether the address is right and nothing on the way blocks it");
  if (error == boost::asio::error::host_not_found || error == boost::asio::error::host_not_found_try_again)
    return failed(Fault::unreachable, fmt::format("no host of the name in {} is known", name),
                  "see whether it is spelt right, and whether this machine has a network");
  if (error == boost::asio::error::no_descriptors)
    return failed(Fault::unreachable, fmt::format("cannot connect to {}: {}", name, error.message()),
                  "raise the limit with ulimit -n, or ask for fewer requests at once");
  return failed(Fault::unreachable, fmt::format("cannot connect to {}: {}", name, error.message()),
                "see whether the server is running there");
}

// Each address gets an equal share of the time, so that an unresponsive one leaves time for the next.
async::Deadline share(async::Deadline deadline, std::size_t addresses) {
  auto left = std::chrono::milliseconds(static_cast<long>(std::max(deadline.left_ms(), 0.0)));
  return deadline.or_in(left / static_cast<long>(addresses));
}

}  // namespace

async::Task<Opener::Opened> Opener::reach(Url where, std::string name, async::Deadline deadline) {
  auto addresses = co_await lookup_.find(where.host, where.port, deadline);
  if (addresses.error) co_return unreachable(name, addresses.error);
  auto connection = std::make_unique<Connection>(loop_);
  error_code error = boost::asio::error::host_not_found;
  for (std::size_t i = 0; i < addresses.endpoints.size(); ++i) {
    error =
        co_await connection->connect(addresses.endpoints[i], share(deadline, addresses.endpoints.size() - i));
    if (!error) co_return std::move(connection);
  }
  co_return unreachable(name, error);
}

async::Task<std::expected<void, Failure>> Opener::tunnel(Connection& connection, Url to, Url proxy,
                                                         async::Deadline deadline) {
  Headers headers = {{"Host", to.authority()}, {"User-Agent", options_.user_agent}};
  if (!proxy.userinfo.empty()) headers.push_back({"Proxy-Authorization", basic_credentials(proxy.userinfo)});
  bool answered = false;
  std::string name = fmt::format("the proxy {}", proxy.origin());
  auto left = std::chrono::milliseconds(static_cast<long>(std::max(deadline.left_ms(), 1.0)));
  Exchange connect{.connection = &connection,
                   .name = name,
                   .head = head_text(fmt::format("CONNECT {} HTTP/1.1", to.authority()), headers),
                   .body = {},
                   .to_head = true,  // bytes after the header come from the other server
                   .limits = {options_.max_header_bytes, options_.max_body_bytes},
                   .idle = left,
                   .answered = &answered};
  auto answer = co_await exchange(std::move(connect));
  if (!answer) {
    if (answer.error().fault != Fault::timeout) answer.error().fault = Fault::proxy;
    answer.error().answered = false;
    co_return std::unexpected(answer.error());
  }
  int status = answer->response.status;
  if (status / 100 == 2) co_return std::expected<void, Failure>();
  co_return failed(
      Fault::proxy,
      fmt::format("{} refused a tunnel to {}: {} {}", name, to.authority(), status, reason(status)),
      status == 407 ? "give it a name and a password: https_proxy=http://NAME:PASSWORD@HOST:PORT"
                    : "no_proxy names hosts that are reached without it");
}

async::Task<std::expected<void, Failure>> Opener::secure(Connection& connection, Url to,
                                                         async::Deadline deadline) {
  if (!tls_) {
    auto made = make_tls_context(options_.ca_file);
    if (!made) co_return failed(Fault::tls, made.error().what, made.error().remedy);
    tls_ = std::move(*made);
  }
  auto error = co_await connection.start_tls(tls_, to.host, deadline);
  if (!error) co_return std::expected<void, Failure>();
  if (error == boost::asio::error::timed_out)
    co_return failed(Fault::timeout, fmt::format("{} did not finish its TLS handshake in time", to.origin()));
  if (auto problem = connection.certificate_problem(); !problem.empty())
    co_return failed(Fault::tls,
                     fmt::format("the certificate of {} is not trusted: {}", to.origin(), problem),
                     "name the file of the authority that signed it in SSL_CERT_FILE");
  co_return failed(Fault::tls, fmt::format("no TLS with {}: {}", to.origin(), error.message()),
                   "see whether the server speaks https on this port");
}

async::Task<Opener::Opened> Opener::open(Url url, std::optional<Url> proxy) {
  auto deadline = async::Deadline::in(options_.connect_timeout);
  std::string name = proxy ? fmt::format("the proxy {}", proxy->origin()) : url.origin();
  auto reached = co_await reach(proxy ? *proxy : url, name, deadline);
  if (!reached || !url.secure()) co_return reached;
  if (proxy)
    if (auto tunnelled = co_await tunnel(**reached, url, *proxy, deadline); !tunnelled)
      co_return std::unexpected(tunnelled.error());
  if (auto secured = co_await secure(**reached, url, deadline); !secured)
    co_return std::unexpected(secured.error());
  co_return reached;
}

}  // namespace kw::http
