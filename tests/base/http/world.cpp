#include "world.h"

#include <fmt/format.h>

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>

namespace kw::http::test {

namespace asio = boost::asio;

struct RawServer::State {
  State(async::Loop& on, Script given)
      : loop(on),
        script(std::move(given)),
        acceptor(on, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}

  async::Loop& loop;
  Script script;
  tcp::acceptor acceptor;
  int connections = 0;
};

namespace {

async::Task<> act(RawServer::Script script, tcp::socket socket, int number) {
  try {
    co_await script(socket, number);
  } catch (const boost::system::system_error&) {
    // The client may close at any time.
  }
}

}  // namespace

RawServer::RawServer(async::Loop& loop, Script script)
    : state_(std::make_shared<State>(loop, std::move(script))) {
  asio::co_spawn(loop, serve(state_), asio::detached);
}

RawServer::~RawServer() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
}

async::Task<> RawServer::serve(std::shared_ptr<State> state) {
  for (;;) {
    boost::system::error_code error;
    auto socket = co_await state->acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    asio::co_spawn(state->loop, act(state->script, std::move(socket), state->connections++), asio::detached);
  }
}

std::uint16_t RawServer::port() const {
  return state_->acceptor.local_endpoint().port();
}
std::string RawServer::url(const std::string& path) const {
  return fmt::format("http://127.0.0.1:{}{}", port(), path);
}
int RawServer::connections() const {
  return state_->connections;
}

async::Task<std::string> read_request(tcp::socket& socket) {
  std::string bytes;
  std::size_t head =
      co_await asio::async_read_until(socket, asio::dynamic_buffer(bytes), "\r\n\r\n", asio::use_awaitable);
  std::size_t at = bytes.find("Content-Length: ");
  if (at == std::string::npos) co_return bytes;
  std::size_t whole = head + std::strtoul(bytes.c_str() + at + 16, nullptr, 10);
  if (bytes.size() < whole)
    co_await asio::async_read(socket, asio::dynamic_buffer(bytes),
                              asio::transfer_exactly(whole - bytes.size()), asio::use_awaitable);
  co_return bytes;
}

async::Task<> say(tcp::socket& socket, std::string bytes) {
  co_await asio::async_write(socket, asio::buffer(bytes), asio::use_awaitable);
}

async::Task<> pause(std::chrono::milliseconds wait) {
  co_await async::sleep_until(async::Deadline::in(wait));
}

async::Task<> until_closed(tcp::socket& socket) {
  boost::system::error_code error;
  std::string bytes(4096, '\0');
  while (!error)
    co_await socket.async_read_some(asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
}

void cut(tcp::socket& socket) {
  socket.set_option(asio::socket_base::linger(true, 0));
  socket.close();
}

World::World(ClientOptions options) {
  renew(std::move(options));
}

void World::renew(ClientOptions options) {
  client = std::make_unique<Client>(loop, std::move(options));
}

Outcome World::send(Request request, OnBody on_body) {
  return kw::test::run_task(loop, client->send(request, deadline, &stop, std::move(on_body)));
}
Outcome World::get(const std::string& url, OnBody on_body) {
  return send({.url = url}, std::move(on_body));
}
Outcome World::post(const std::string& url, std::string body) {
  return send({.method = "POST", .url = url, .body = std::move(body)});
}

std::unique_ptr<Server> World::serve(Handler handler, ServerOptions options) {
  return std::move(Server::listen(loop, std::move(options), std::move(handler)).value());
}

async::Task<> echo(const Request& request, Responder& responder) {
  std::string text = fmt::format("{} {}\n", request.method, request.url);
  for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\n", name, value);
  co_await responder.send(
      {200, {{"X-Length", fmt::format("{}", request.body.size())}}, text + "\n" + request.body});
}

WithVariable::WithVariable(std::string name, const std::string& value) : name_(std::move(name)) {
  setenv(name_.c_str(), value.c_str(), 1);
}
WithVariable::~WithVariable() {
  unsetenv(name_.c_str());
}

async::Task<tcp::socket> dial(World& world, const Server& server, const char* from) {
  tcp::socket socket(world.loop);
  socket.open(tcp::v4());
  socket.bind({boost::asio::ip::make_address(from), 0});
  co_await socket.async_connect({boost::asio::ip::address_v4::loopback(), server.port()},
                                boost::asio::use_awaitable);
  co_return std::move(socket);
}

async::Task<std::string> read_all(tcp::socket& socket) {
  std::string bytes;
  boost::system::error_code ignored;
  co_await boost::asio::async_read(socket, boost::asio::dynamic_buffer(bytes),
                                   boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  co_return bytes;
}

}  // namespace kw::http::test
