#include "base/http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>
#include <map>

#include "base/async/loop.h"
#include "base/core/text.h"
#include "base/http/server_session.h"

namespace kw::http {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// The number of refused clients that get a response at a time. Further ones are disconnected, so that
// refusals use limited memory and descriptors.
constexpr std::size_t kTurnedAwayAtOnce = 256;

// An IPv4 address that is mapped to IPv6, as IPv4.
asio::ip::address plain_address(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address;
}

// The address that the connection limit counts: the network of 64 bits for IPv6, which one host commonly has.
asio::ip::address counted_as(const asio::ip::address& address) {
  if (!address.is_v6()) return address;
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return asio::ip::address_v6(bytes);
}

}  // namespace

// Shared with the coroutines, which end shortly after the Server.
struct Server::State : std::enable_shared_from_this<Server::State> {
  State(async::Loop& on, ServerOptions given, Handler answers)
      : loop(on), options(std::move(given)), handler(std::move(answers)), acceptor(on), clock(on) {}

  // An open connection, with the parts that stop() needs to end it.
  struct Served {
    std::unique_ptr<Session> session;
    asio::ip::address from;
    asio::cancellation_signal cancel;
    int refused_with = 0;
  };

  error_code open();
  static async::Task<> accept(std::shared_ptr<State> state);
  static async::Task<> serve(std::shared_ptr<State> state, Served* served);
  static async::Task<> keep_time(std::shared_ptr<State> state);
  void start(tcp::socket socket);
  int refusal(const asio::ip::address& from);
  void forget(std::list<Served>::iterator place);
  void stop();

  async::Loop& loop;
  ServerOptions options;
  Handler handler;
  std::shared_ptr<TlsContext> tls;
  tcp::acceptor acceptor;
  asio::steady_timer clock;
  std::uint16_t port = 0;
  ServerTotalsPtr totals = std::make_shared<ServerTotals>();
  std::list<Served> serving;
  std::size_t turned_away = 0;
  std::map<asio::ip::address, std::size_t> from_address;  // those not turned away
  bool stopped = false;
};

error_code Server::State::open() {
  error_code error;
  std::string address = iequals(options.address, "localhost") ? "127.0.0.1" : options.address;
  tcp::endpoint endpoint(asio::ip::make_address(address, error), options.port);
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (!error) keep_from_children(acceptor.native_handle());
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(4096, error);
  if (!error) port = acceptor.local_endpoint(error).port();
  return error;
}

async::Task<> Server::State::accept(std::shared_ptr<State> state) {
  while (!state->stopped) {
    error_code error;
    auto socket = co_await state->acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (state->stopped) co_return;
    if (!error)
      state->start(std::move(socket));
    else  // out of descriptors: waits until connections end
      co_await async::sleep_until(async::Deadline::in(20ms));
  }
}

// The status that refuses a new connection; 0 if it is accepted.
int Server::State::refusal(const asio::ip::address& from) {
  if (serving.size() - turned_away >= options.max_connections) return 503;
  auto held = from_address.find(from);
  bool is_greedy = options.max_connections_per_address > 0 && held != from_address.end() &&
                   held->second >= options.max_connections_per_address;
  return is_greedy ? 429 : 0;
}

void Server::State::start(tcp::socket socket) {
  error_code gone;
  auto from = plain_address(socket.remote_endpoint(gone).address());
  if (gone) return;
  auto counted = counted_as(from);
  int refused_with = refusal(counted);
  // A client that expects TLS cannot read a plain response.
  if (refused_with != 0 && (tls || turned_away >= kTurnedAwayAtOnce)) return;
  auto& served = serving.emplace_front();
  served.session = std::make_unique<Session>(loop, std::move(socket), from.to_string(), options, totals);
  served.from = counted;
  served.refused_with = refused_with;
  if (refused_with != 0)
    ++turned_away;
  else
    ++from_address[counted];
  // An exception ends this connection only.
  async::spawn(loop, serve(shared_from_this(), &served), served.cancel.slot(),
               [state = shared_from_this(), place = serving.begin()](const std::exception_ptr&) {
                 state->forget(place);
               });
}

void Server::State::forget(std::list<Served>::iterator place) {
  if (place->refused_with != 0)
    --turned_away;
  else if (auto held = from_address.find(place->from); --held->second == 0)
    from_address.erase(held);
  serving.erase(place);
}

async::Task<> Server::State::serve(std::shared_ptr<State> state, Served* served) {
  if (served->refused_with != 0)
    co_await served->session->turn_away(served->refused_with);
  else
    co_await served->session->serve(state->handler, state->tls);
}

async::Task<> Server::State::keep_time(std::shared_ptr<State> state) {
  const ServerOptions& options = state->options;
  auto shortest = std::min(
      {options.head_timeout, options.body_timeout, options.idle_timeout, options.socket_quiet_timeout});
  auto step = std::clamp<std::chrono::milliseconds>(shortest / 4, 5ms, 1s);
  while (!state->stopped) {
    error_code ignored;
    state->clock.expires_after(step);
    co_await state->clock.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    auto now = async::SteadyClock::now();
    for (Served& served : state->serving) served.session->end_overdue(now);
  }
}

void Server::State::stop() {
  if (stopped) return;
  stopped = true;
  error_code ignored;
  acceptor.close(ignored);
  // Runs on the loop, where a cancellation takes effect at once. From another thread it could come after the
  // coroutine's end.
  asio::dispatch(loop, [self = shared_from_this()] {
    self->clock.cancel();
    for (Served& served : self->serving) {
      served.session->close();
      served.cancel.emit(asio::cancellation_type::terminal);
    }
  });
}

Server::Server(std::shared_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  stop();
}

Result<std::unique_ptr<Server>> Server::listen(async::Loop& loop, ServerOptions options, Handler handler) {
  auto state = std::make_shared<State>(loop, std::move(options), std::move(handler));
  const ServerTls& files = state->options.tls;
  if (!files.certificate_file.empty() || !files.key_file.empty()) {
    auto tls = make_server_tls_context(files.certificate_file, files.key_file);
    if (!tls) return std::unexpected(tls.error());
    state->tls = std::move(*tls);
  }
  if (auto error = state->open(); error) {
    bool is_address =
        error == asio::error::invalid_argument || error == boost::system::errc::address_not_available;
    return fail(fmt::format("cannot listen on {}:{}: {}", state->options.address, state->options.port,
                            error.message()),
                is_address ? "give an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::"
                           : "give another port, or 0 for any free one");
  }
  async::spawn(loop, State::accept(state));
  async::spawn(loop, State::keep_time(state));
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::uint16_t Server::port() const {
  return state_->port;
}

std::string Server::url() const {
  bool bare = state_->options.address.find(':') == std::string::npos;
  return fmt::format("{}://{}{}{}:{}", state_->tls ? "https" : "http", bare ? "" : "[",
                     state_->options.address, bare ? "" : "]", state_->port);
}

std::size_t Server::connections() const {
  return state_->serving.size();
}

void Server::stop() {
  state_->stop();
}

}  // namespace kw::http
