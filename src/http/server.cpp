#include "http/server.h"

#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>

#include "http/server_session.h"

namespace kw::http {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t kHeaderBytes = std::size_t{64} << 10;

}  // namespace

// Shared with the coroutines, which end a moment after the Server does.
struct Server::State : std::enable_shared_from_this<Server::State> {
  State(async::Loop& on, ServerOptions given, Handler answers)
      : loop(on), options(std::move(given)), handler(std::move(answers)), acceptor(on) {}

  // A connection that is served now: what stop() needs to end it.
  struct Served {
    std::unique_ptr<Session> session;
    asio::cancellation_signal cancel;
    bool turned_away = false;
  };

  error_code open();
  static async::Task<> accept(std::shared_ptr<State> state);
  static async::Task<> serve(std::shared_ptr<State> state, Served* served);
  void start(tcp::socket socket);
  void stop();

  async::Loop& loop;
  ServerOptions options;
  Handler handler;
  tcp::acceptor acceptor;
  std::uint16_t port = 0;
  std::list<Served> serving;
  bool stopped = false;
};

error_code Server::State::open() {
  error_code error;
  tcp::endpoint endpoint(asio::ip::make_address(options.address, error), options.port);
  if (!error) acceptor.open(endpoint.protocol(), error);
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
    else  // no descriptors are left: some come back when connections end
      co_await async::sleep_until(async::Deadline::in(20ms));
  }
}

void Server::State::start(tcp::socket socket) {
  auto& served = serving.emplace_front();
  served.session = std::make_unique<Session>(std::move(socket), Limits{kHeaderBytes, options.max_body_bytes});
  served.turned_away = serving.size() > options.max_connections;
  asio::co_spawn(loop, serve(shared_from_this(), &served),
                 asio::bind_cancellation_slot(
                     served.cancel.slot(), [state = shared_from_this(), place = serving.begin()](
                                               const std::exception_ptr&) { state->serving.erase(place); }));
}

async::Task<> Server::State::serve(std::shared_ptr<State> state, Served* served) {
  if (served->turned_away)
    co_await served->session->turn_away();
  else
    co_await served->session->serve(state->handler);
}

void Server::State::stop() {
  if (stopped) return;
  stopped = true;
  error_code ignored;
  acceptor.close(ignored);
  // On the loop: there a cancellation takes effect at once, elsewhere it could come after the coroutine's
  // end.
  asio::dispatch(loop, [self = shared_from_this()] {
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
  if (auto error = state->open(); error)
    return fail(fmt::format("cannot listen on {}:{}: {}", state->options.address, state->options.port,
                            error.message()),
                "give another port, or 0 for any free one");
  asio::co_spawn(loop, State::accept(state), asio::detached);
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::uint16_t Server::port() const {
  return state_->port;
}

std::string Server::url() const {
  bool bare = state_->options.address.find(':') == std::string::npos;
  return fmt::format("http://{}{}{}:{}", bare ? "" : "[", state_->options.address, bare ? "" : "]",
                     state_->port);
}

void Server::stop() {
  state_->stop();
}

}  // namespace kw::http
