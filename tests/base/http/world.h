// Real sockets on loopback: the client against the server, or against servers that violate HTTP.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/http/client.h"
#include "base/http/server.h"
#include "support/run_task.h"

namespace kw::http::test {

using boost::asio::ip::tcp;
using Outcome = std::expected<Response, Failure>;

// A server on bare TCP: `script` gets each connection, numbered from 0.
class RawServer {
 public:
  using Script = std::function<async::Task<>(tcp::socket& socket, int number)>;
  RawServer(async::Loop& loop, Script script);
  ~RawServer();

  std::uint16_t port() const;
  std::string url(const std::string& path = "/") const;
  int connections() const;

 private:
  struct State;
  static async::Task<> serve(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// The bytes of a request up to its empty line, and of its body where it has a length.
async::Task<std::string> read_request(tcp::socket& socket);
async::Task<> say(tcp::socket& socket, std::string bytes);
async::Task<> pause(std::chrono::milliseconds wait);
// Ends when the other end closes.
async::Task<> until_closed(tcp::socket& socket);
void cut(tcp::socket& socket);

// A loop, a client on it, and helpers of most tests.
struct World {
  explicit World(ClientOptions options = {});

  // A new client, which reads the environment again.
  void renew(ClientOptions options);
  Outcome send(Request request, OnBody on_body = {});
  Outcome get(const std::string& url, OnBody on_body = {});
  Outcome post(const std::string& url, std::string body);
  std::unique_ptr<Server> serve(Handler handler, ServerOptions options = {});

  async::Loop loop;
  async::Stop stop{loop};
  async::Deadline deadline = async::Deadline::in(std::chrono::seconds(20));
  std::unique_ptr<Client> client;
};

// Answers with the request's method, target, headers and body, a line each.
async::Task<> echo(const Request& request, Responder& responder);

// Connects from that address; returns all bytes until the other end closes.
async::Task<tcp::socket> dial(World& world, const Server& server, const char* from = "127.0.0.1");
async::Task<std::string> read_all(tcp::socket& socket);

// Sets an environment variable for one test.
class WithVariable {
 public:
  WithVariable(std::string name, const std::string& value);
  ~WithVariable();

 private:
  std::string name_;
};

}  // namespace kw::http::test
