// The server's limits for one client: connections, time for a request, and time of a handler.
#include <gmock/gmock.h>

#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/http/connection.h"
#include "tls_world.h"

namespace kw::http::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

// Sends a piece every few milliseconds, or nothing, until the server closes; returns the server's answer and
// the time.
struct Slow {
  std::string answer;
  std::chrono::milliseconds took{0};
};

Slow drip(World& world, const Server& server, std::string first, std::string piece) {
  return kw::test::run_task(
      world.loop, [](World* in, const Server* to, std::string begin, std::string more) -> async::Task<Slow> {
        auto began = async::SteadyClock::now();
        auto socket = co_await dial(*in, *to);
        co_await say(socket, std::move(begin));
        boost::system::error_code error;
        while (!more.empty() && !error && socket.available(error) == 0 && async::ms_since(began) < 5000) {
          co_await pause(3ms);
          co_await boost::asio::async_write(socket, boost::asio::buffer(more),
                                            boost::asio::redirect_error(boost::asio::use_awaitable, error));
        }
        std::string answer = co_await read_all(socket);
        co_return Slow{answer, std::chrono::milliseconds(static_cast<long>(async::ms_since(began)))};
      }(&world, &server, std::move(first), std::move(piece)));
}

TEST(ServerLimits, AHeaderThatTricklesGets408) {
  World world;
  auto server = world.serve(echo, {.head_timeout = 60ms});
  Slow slow = drip(world, *server, "GET / HTTP/1.1\r\nX: ", "y");
  EXPECT_THAT(slow.answer, StartsWith("HTTP/1.1 408 "));
  EXPECT_LT(slow.took, 1500ms);
}

TEST(ServerLimits, ABodyThatTricklesGets408ThoughItsHeaderWasQuick) {
  World world;
  auto server = world.serve(echo, {.head_timeout = 10s, .body_timeout = 60ms});
  Slow slow = drip(world, *server, "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n", "y");
  EXPECT_THAT(slow.answer, StartsWith("HTTP/1.1 408 "));
  EXPECT_LT(slow.took, 1500ms);
}

// Bodies that never end, of several connections, take no more memory than one server grants.
TEST(ServerLimits, TheBodiesOfAllConnectionsAreBounded) {
  World world;
  auto server = world.serve(echo, {.max_request_bytes = 300'000, .head_timeout = 10s, .body_timeout = 10s});
  kw::test::run_task(world.loop, [](World* in, const Server* to) -> async::Task<bool> {
    const std::string head = "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n";
    auto first = co_await dial(*in, *to);
    co_await say(first, head + std::string(250'000, 'x'));
    co_await pause(100ms);
    auto second = co_await dial(*in, *to);
    co_await say(second, head + std::string(100'000, 'x'));
    EXPECT_THAT(co_await read_all(second), StartsWith("HTTP/1.1 503 "));
    auto small = co_await dial(*in, *to);
    co_await say(small, "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_THAT(co_await read_all(small), StartsWith("HTTP/1.1 200 "));
    first.close();
    co_await pause(100ms);
    auto third = co_await dial(*in, *to);
    co_await say(third, "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n" +
                            std::string(100'000, 'x'));
    EXPECT_THAT(co_await read_all(third), StartsWith("HTTP/1.1 200 "));
    co_return true;
  }(&world, server.get()));
}

TEST(ServerLimits, WhoSaysNothingIsCutOff) {
  World world;
  auto server = world.serve(echo, {.head_timeout = 40ms});
  Slow slow = drip(world, *server, "", "");
  EXPECT_EQ(slow.answer, "");
  EXPECT_LT(slow.took, 1500ms);
}

TEST(ServerLimits, AKeptConnectionHasATimeOfItsOwn) {
  World world;
  auto server = world.serve(echo, {.head_timeout = 10s, .idle_timeout = 40ms});
  ASSERT_EQ(world.get(server->url())->status, 200);
  ASSERT_EQ(server->connections(), 1U);
  kw::test::run_task(world.loop, [](const Server* to) -> async::Task<bool> {
    auto deadline = async::Deadline::in(5s);
    while (to->connections() > 0 && !deadline.passed()) co_await pause(5ms);
    co_return true;
  }(server.get()));
  EXPECT_EQ(server->connections(), 0U);
  EXPECT_EQ(world.get(server->url())->status, 200);  // on a fresh one
}

TEST(ServerLimits, AHandlerMayTakeLongerThanAClient) {
  World world;
  auto server = world.serve(
      [](const Request&, Responder& responder) -> async::Task<> {
        co_await pause(100ms);
        co_await responder.send({200, {}, "late"});
      },
      {.head_timeout = 20ms, .body_timeout = 20ms, .idle_timeout = 20ms});
  auto answer = world.get(server->url());
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->body, "late");
}

TEST(ServerLimits, OneAddressHoldsOnlySoManyConnections) {
  World world;
  auto server = world.serve(echo, {.max_connections_per_address = 2});
  auto answers = kw::test::run_task(world.loop,
                                    [](World* in, const Server* to) -> async::Task<std::vector<std::string>> {
                                      auto first = co_await dial(*in, *to);
                                      auto second = co_await dial(*in, *to);
                                      auto third = co_await dial(*in, *to);
                                      std::string greedy = co_await read_all(third);
                                      auto other = co_await dial(*in, *to, "127.0.0.2");
                                      co_await say(other, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
                                      std::string modest = co_await read_all(other);
                                      first.close();
                                      while (to->connections() > 1) co_await pause(1ms);
                                      auto again = co_await dial(*in, *to);
                                      co_await say(again, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
                                      co_return std::vector{greedy, modest, co_await read_all(again)};
                                    }(&world, server.get()));
  EXPECT_THAT(answers[0], StartsWith("HTTP/1.1 429 "));
  EXPECT_THAT(answers[1], StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answers[2], StartsWith("HTTP/1.1 200 "));
}

TEST(ServerLimits, ARequestSaysWhoseItIs) {
  World world;
  auto server = world.serve([](const Request& request, Responder& responder) -> async::Task<> {
    co_await responder.send({200, {}, request.peer});
  });
  EXPECT_EQ(world.get(server->url())->body, "127.0.0.1");
}

// The outcome of a handler that waits for its client to close.
struct Watching {
  bool began = false;
  bool was_gone_at_once = true;
  bool heard = false;

  Handler handler() {
    return [this](const Request&, Responder& responder) -> async::Task<> {
      if (!std::exchange(began, true)) was_gone_at_once = responder.gone();
      co_await responder.until_gone();
      heard = responder.gone();
    };
  }

  // Sends a request, and more, and then closes as specified.
  void watch(World& world, const Server& server, std::string bytes, std::function<void(tcp::socket&)> leave) {
    kw::test::run_task(world.loop,
                       [](Watching* that, World* in, const Server* to, std::string text,
                          std::function<void(tcp::socket&)> go) -> async::Task<bool> {
                         auto socket = co_await dial(*in, *to);
                         co_await say(socket, std::move(text));
                         while (!that->began) co_await pause(1ms);
                         co_await pause(5ms);
                         EXPECT_FALSE(that->heard);
                         go(socket);
                         auto deadline = async::Deadline::in(5s);
                         while (!that->heard && !deadline.passed()) co_await pause(1ms);
                         co_return true;
                       }(this, &world, &server, std::move(bytes), std::move(leave)));
    EXPECT_FALSE(was_gone_at_once);
    EXPECT_TRUE(heard);
  }
};

TEST(ServerLimits, AWaitingHandlerHearsThatItsClientHangsUp) {
  World world;
  Watching watching;
  auto server = world.serve(watching.handler());
  watching.watch(world, *server, "GET / HTTP/1.1\r\n\r\n", [](tcp::socket& socket) { socket.close(); });
}

TEST(ServerLimits, AWaitingHandlerHearsOfAHalfCloseAndOfAReset) {
  World world;
  for (auto leave : {+[](tcp::socket& socket) { socket.shutdown(tcp::socket::shutdown_send); },
                     +[](tcp::socket& socket) { cut(socket); }}) {
    Watching watching;
    auto server = world.serve(watching.handler());
    watching.watch(world, *server, "GET / HTTP/1.1\r\n\r\n", leave);
  }
}

TEST(ServerLimits, ARequestThatWaitsInLineDoesNotHideThatItsClientIsGone) {
  World world;
  Watching watching;
  auto server = world.serve(watching.handler());
  std::string rest(40'000, 'x');  // more than the server reads ahead
  watching.watch(world, *server,
                 "GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 40000\r\n\r\n" + rest,
                 [](tcp::socket& socket) { socket.close(); });
}

struct ServerTlsTest : testing::Test {
  Certificate certificate = make_certificate("127.0.0.1");
  TemporaryFile file{certificate.certificate};
  TemporaryFile key{certificate.key};
  World world{{.ca_file = file.path()}};
  ServerOptions options{.tls = {file.path(), key.path()}};

  std::string refusal(ServerTls tls) {
    auto server = Server::listen(world.loop, {.tls = std::move(tls)}, echo);
    return server ? "" : server.error().what + " -> " + server.error().remedy;
  }
};

TEST_F(ServerTlsTest, OurClientIsServedOverOneConnection) {
  auto server = world.serve(echo, options);
  EXPECT_THAT(server->url(), StartsWith("https://127.0.0.1:"));
  for (int i = 0; i < 3; ++i) {
    auto answer = world.post(server->url() + "/path", std::string(300'000, 'x'));
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_THAT(answer->body, StartsWith("POST /path\n"));
    EXPECT_EQ(server->connections(), 1U);
  }
}

TEST_F(ServerTlsTest, AnAnswerInPiecesTravels) {
  auto server = world.serve(
      [](const Request&, Responder& responder) -> async::Task<> {
        co_await responder.begin({200, {}, ""});
        for (int i = 0; i < 100 && co_await responder.write(std::string(1000, 'x')); ++i) {
        }
        co_await responder.end();
      },
      options);
  EXPECT_EQ(world.get(server->url())->body.size(), 100'000U);
}

TEST_F(ServerTlsTest, AClientWithoutTlsIsCutOff) {
  auto server = world.serve(echo, options);
  auto answer = world.get("http://127.0.0.1:" + std::to_string(server->port()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::broken);
  EXPECT_TRUE(world.get(server->url()));
}

TEST_F(ServerTlsTest, AHandshakeThatNeverEndsHoldsNoPlace) {
  options.head_timeout = 40ms;
  auto server = world.serve(echo, options);
  Slow slow = drip(world, *server, "\x16", "");
  EXPECT_EQ(slow.answer, "");
  EXPECT_LT(slow.took, 1500ms);
  EXPECT_EQ(server->connections(), 0U);
}

TEST_F(ServerTlsTest, ARequestThatStopsHalfWayGets408) {
  options.body_timeout = 60ms;
  auto server = world.serve(echo, options);
  std::string answer = kw::test::run_task(
      world.loop, [](World* in, const Server* to, std::string ca) -> async::Task<std::string> {
        Connection connection(in->loop);
        co_await connection.connect({boost::asio::ip::address_v4::loopback(), to->port()}, in->deadline);
        co_await connection.start_tls(make_tls_context(ca).value(), "127.0.0.1", in->deadline);
        co_await connection.write("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf", 5s);
        std::array<char, 4096> bytes{};
        auto read = co_await connection.read(bytes, async::Deadline::in(5s));
        co_return std::string(bytes.data(), read.bytes);
      }(&world, server.get(), file.path()));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 408 "));
}

TEST_F(ServerTlsTest, AWaitingHandlerHearsThatItsClientIsGone) {
  Watching watching;
  auto server = world.serve(watching.handler(), options);
  async::Stop leaves(world.loop);
  boost::asio::co_spawn(
      world.loop,
      [](Watching* that, async::Stop* stop) -> async::Task<> {
        while (!that->began) co_await pause(1ms);
        co_await pause(10ms);
        EXPECT_FALSE(that->heard);
        stop->request("enough");
      }(&watching, &leaves),
      boost::asio::detached);
  Request request{.url = server->url()};
  auto answer = kw::test::run_task(world.loop, world.client->send(request, world.deadline, &leaves));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::stopped);
  kw::test::run_task(world.loop, [](Watching* that) -> async::Task<bool> {
    auto deadline = async::Deadline::in(5s);
    while (!that->heard && !deadline.passed()) co_await pause(1ms);
    co_return true;
  }(&watching));
  EXPECT_FALSE(watching.was_gone_at_once);
  EXPECT_TRUE(watching.heard);
}

TEST_F(ServerTlsTest, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(refusal({"/no/such.pem", key.path()}), HasSubstr("/no/such.pem"));
  EXPECT_THAT(refusal({file.path(), "/no/such.key"}), HasSubstr("/no/such.key"));
}

TEST_F(ServerTlsTest, OneFileIsNotEnough) {
  EXPECT_THAT(refusal({file.path(), ""}), HasSubstr("key"));
  EXPECT_THAT(refusal({"", key.path()}), HasSubstr("certificate"));
}

TEST_F(ServerTlsTest, AFileOfSomethingElseIsNamed) {
  TemporaryFile text("no PEM\n");
  EXPECT_THAT(refusal({text.path(), key.path()}), HasSubstr(text.path()));
  EXPECT_THAT(refusal({file.path(), text.path()}), HasSubstr(text.path()));
}

TEST_F(ServerTlsTest, AKeyOfAnotherCertificateIsRefused) {
  TemporaryFile other(make_certificate("127.0.0.1").key);
  std::string words = refusal({file.path(), other.path()});
  EXPECT_THAT(words, HasSubstr(file.path()));
  EXPECT_THAT(words, HasSubstr(other.path() + " is not that of"));
}

TEST_F(ServerTlsTest, AKeyWithAPassphraseIsNamedAndAsksNobody) {
  // Made by openssl pkey -aes256; this key is not used anywhere.
  TemporaryFile locked("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII=\n-----END ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_THAT(refusal({file.path(), locked.path()}), HasSubstr("passphrase"));
}

}  // namespace
}  // namespace kw::http::test
