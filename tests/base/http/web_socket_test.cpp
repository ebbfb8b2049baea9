// WebSockets of the server: the upgrade, messages in order, closes, and clients that keep no rule.
#include <gmock/gmock.h>

#include "support/socket_client.h"
#include "tls_world.h"

namespace kw::http::test {
namespace {

using namespace std::chrono_literals;
using kw::test::Frame;
using kw::test::frame;
using kw::test::frame_head;
using kw::test::SocketClient;
using testing::HasSubstr;
using testing::StartsWith;

// Answers each message with "heard: ...", unless it is one of its commands.
async::Task<> hear(const Request& request, Responder& responder) {
  auto upgraded = co_await responder.upgrade(request);
  if (!upgraded) co_return co_await responder.send({upgraded.error().status, {}, upgraded.error().message});
  WebSocket& socket = **upgraded;
  while (auto message = co_await socket.read()) {
    if (*message == "go away") co_return co_await socket.close(SocketClose::going_away, "told to");
    if (*message == "think") co_await socket.until_gone();
    if (*message == "end") co_return;
    if (!co_await socket.write("heard: " + *message)) co_return;
  }
}

struct SocketWorld : World {
  explicit SocketWorld(ServerOptions options = {}, Handler handler = hear)
      : server(serve(std::move(handler), std::move(options))) {}

  // Runs what a client does with a server on the same loop.
  template <typename Script>
  void run(Script script) {
    kw::test::run_task(loop, [](SocketWorld* in, Script act) -> async::Task<bool> {
      SocketClient client(in->loop);
      co_await client.open(in->server->port());
      EXPECT_THAT(client.answer, StartsWith("HTTP/1.1 101 "));
      co_await act(*in, client);
      co_return true;
    }(this, std::move(script)));
  }

  // The code of the server's close frame after these bytes; 0: it closed without one.
  int code_after(std::string bytes) {
    int code = -1;
    run([&](SocketWorld&, SocketClient& client) -> async::Task<> {
      co_await client.say(std::move(bytes));
      code = (co_await client.next(Frame::close)).code();
    });
    return code;
  }

  // The answer to a handshake or another request.
  std::string answer_to(std::string path, std::string headers) {
    SocketClient client(loop);
    kw::test::run_task(loop, [](SocketWorld* in, SocketClient* one, auto to, auto more) -> async::Task<bool> {
      co_await one->open(in->server->port(), to, more);
      co_return true;
    }(this, &client, std::move(path), std::move(headers)));
    return client.answer;
  }

  void until_connections(std::size_t count) {
    kw::test::run_task(loop, [](const Server* of, std::size_t wanted) -> async::Task<bool> {
      auto limit = async::Deadline::in(20s);
      while (of->connections() != wanted && !limit.passed()) co_await pause(2ms);
      co_return true;
    }(server.get(), count));
    EXPECT_EQ(server->connections(), count);
  }

  std::unique_ptr<Server> server;
};

TEST(WebSockets, MessagesAreAnsweredInOrder) {
  SocketWorld world;
  world.run([](SocketWorld&, SocketClient& client) -> async::Task<> {
    // The key and the answer of RFC 6455, section 1.3.
    EXPECT_THAT(client.answer, HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    EXPECT_THAT(client.answer, testing::Not(HasSubstr("Sec-WebSocket-Extensions")));
    co_await client.say(frame(Frame::text, "a") + frame(Frame::text, "b"));
    EXPECT_EQ((co_await client.next()).payload, "heard: a");
    EXPECT_EQ((co_await client.next()).payload, "heard: b");
    const std::string large(200'000, 'x');
    co_await client.send(large);
    EXPECT_EQ((co_await client.next()).payload, "heard: " + large);
    co_await client.say(frame(Frame::text, "in ", {.is_last = false}) + frame(Frame::ping, "?") +
                        frame(Frame::more, "", {.is_last = false}) + frame(Frame::more, "parts"));
    EXPECT_EQ((co_await client.next()).payload, "?");
    EXPECT_EQ((co_await client.next()).payload, "heard: in parts");
  });
  world.until_connections(0);
}

TEST(WebSockets, BytesThatComeWithTheHandshakeAreNotLost) {
  SocketWorld world;
  kw::test::run_task(world.loop, [](SocketWorld* in) -> async::Task<bool> {
    SocketClient client(in->loop);
    co_await client.connect(in->server->port());
    co_await client.say(
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
        "13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
        frame(Frame::text, "early"));
    co_await client.take_answer();
    EXPECT_EQ((co_await client.next()).payload, "heard: early");
    co_return true;
  }(&world));
}

TEST(WebSockets, BothSidesCloseWithACode) {
  SocketWorld world;
  EXPECT_EQ(world.code_after(frame(Frame::close, "\x03\xe8")), 1000);
  EXPECT_EQ(world.code_after(frame(Frame::text, "go away")), 1001);
  EXPECT_EQ(world.code_after(frame(Frame::text, "end")), 1000);
  world.until_connections(0);
}

TEST(WebSockets, TheLastMessageOfAClientThatClosesAtOnceIsRead) {
  std::string heard;
  SocketWorld world({}, [&](const Request& request, Responder& responder) -> async::Task<> {
    auto upgraded = co_await responder.upgrade(request);
    co_await pause(5ms);  // the close frame arrives before the first read
    while (auto message = co_await (*upgraded)->read()) heard += *message;
  });
  EXPECT_EQ(world.code_after(frame(Frame::text, "a") + frame(Frame::text, "b") + frame(Frame::close, "")),
            1000);
  world.until_connections(0);
  EXPECT_EQ(heard, "ab");
}

TEST(WebSockets, AHandlerLearnsThatItsClientIsGone) {
  SocketWorld world;
  world.run([](SocketWorld&, SocketClient& client) -> async::Task<> {
    co_await client.send("think");
    co_await client.say(frame(Frame::ping, "still there?"));
    EXPECT_EQ((co_await client.next()).op, Frame::pong) << "the handler works, and pings are answered";
    client.close();
  });
  world.until_connections(0);
}

TEST(WebSockets, AnotherRequestGets426) {
  SocketWorld world;
  auto plain = world.get(world.server->url());
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->status, 426);
  EXPECT_EQ(world.get(world.server->url())->status, 426) << "the connection goes on";
  kw::test::run_task(world.loop, [](SocketWorld* in) -> async::Task<bool> {
    for (const char* wrong : {"GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
                              "POST / HTTP/1.1\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n",
                              "GET / HTTP/1.1\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n"}) {
      SocketClient client(in->loop);
      co_await client.connect(in->server->port());
      co_await client.say(std::string(wrong) + "Host: x\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
                          "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
      co_await client.take_answer();
      EXPECT_THAT(client.answer, HasSubstr(" 426 ")) << wrong;
    }
    SocketClient client(in->loop);
    co_await client.connect(in->server->port());
    co_await client.say(
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
        "13\r\nSec-WebSocket-Key: short\r\n\r\n");
    co_await client.take_answer();
    EXPECT_THAT(client.answer, HasSubstr(" 400 "));
    co_return true;
  }(&world));
}

TEST(WebSockets, FramesThatBreakTheProtocolAreClosed) {
  SocketWorld world({.max_body_bytes = 1000});
  EXPECT_EQ(world.code_after(frame(Frame::text, "not masked", {.is_masked = false})), 1002);
  EXPECT_EQ(world.code_after(frame(Frame::more, "of nothing")), 1002);
  EXPECT_EQ(world.code_after(frame_head(Frame::ping, 126)), 1002);
  EXPECT_EQ(world.code_after("\xc1\x81maskx"), 1002) << "compressed, which was not offered";
  EXPECT_EQ(world.code_after(frame(Frame::text, "\xc3(")), 1007);
  EXPECT_EQ(world.code_after(frame(Frame::text, "\xe2\x82")), 1007) << "cut in a character";
  EXPECT_EQ(world.code_after(frame(Frame::binary, "bytes")), 1003);
  EXPECT_EQ(world.code_after(frame_head(Frame::text, 1001)), 1009) << "before the payload";
  EXPECT_EQ(world.code_after(frame_head(Frame::text, std::uint64_t{1} << 62)), 1009);
  EXPECT_EQ(world.code_after(frame(Frame::text, std::string(600, 'x'), {.is_last = false}) +
                             frame(Frame::more, std::string(600, 'x'))),
            1009);
  world.until_connections(0);
}

TEST(WebSockets, ControlFramesThatBreakTheProtocolAreClosed) {
  SocketWorld world;
  EXPECT_EQ(world.code_after(frame(Frame::ping, "part", {.is_last = false})), 1002);
  EXPECT_EQ(world.code_after(frame(static_cast<Frame::Op>(3), "reserved")), 1002);
  EXPECT_EQ(world.code_after(frame(static_cast<Frame::Op>(11), "reserved")), 1002);
  EXPECT_EQ(world.code_after(frame(Frame::close, "x")), 1002) << "half a code";
  EXPECT_EQ(world.code_after(frame(Frame::close, "\x03\xed")), 1002) << "1005 is never sent";
  EXPECT_EQ(world.code_after(frame(Frame::close, "\x03\xe8\xff")), 1002) << "why is no UTF-8";
  EXPECT_EQ(world.code_after(std::string("\x81\xfe\x00\x01maskx", 9)), 1002) << "a length in too many bytes";
  EXPECT_EQ(world.code_after("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xffmask"), 1009) << "a length of 64 bits";
  EXPECT_EQ(world.code_after(frame(Frame::text, "a", {.is_last = false}) + frame(Frame::text, "b")), 1002)
      << "a message within another";
  world.until_connections(0);
}

TEST(WebSockets, AClientThatIsCutInTheMiddleHoldsNothing) {
  SocketWorld world({.max_request_bytes = 300'000});
  const std::string part(200'000, 'm');
  for (const std::string& bytes :
       {frame_head(Frame::text, 1'000'000) + part, frame(Frame::text, part, {.is_last = false}),
        frame(Frame::text, "think") + frame(Frame::text, part), std::string("\x81", 1),
        frame_head(Frame::ping, 100) + "half", frame_head(Frame::close, 100)}) {
    world.run([&](SocketWorld&, SocketClient& client) -> async::Task<> {
      co_await client.say(bytes);
      client.close();
    });
    world.until_connections(0);
  }
  world.run([&](SocketWorld&, SocketClient& client) -> async::Task<> {
    co_await client.send(part);
    EXPECT_EQ((co_await client.next()).payload, "heard: " + part);
  });
}

TEST(WebSockets, AMessageThatTricklesIsClosed) {
  SocketWorld world({.body_timeout = 40ms});
  EXPECT_EQ(world.code_after("\x81"), 1008) << "one byte of a frame";
  EXPECT_EQ(world.code_after(frame_head(Frame::text, 100) + "x"), 1008);
  EXPECT_EQ(world.code_after(frame(Frame::text, "a", {.is_last = false}) + frame(Frame::ping, "")), 1008);
  world.until_connections(0);
}

// The bytes that a client can send until it is cut.
std::size_t flood(SocketWorld& world, const std::string& piece) {
  std::size_t sent = 0;
  world.run([&](SocketWorld&, SocketClient& client) -> async::Task<> {
    while (sent < std::size_t{64} << 20 && co_await client.say(piece)) sent += piece.size();
  });
  world.until_connections(0);
  return sent;
}

std::string times(int count, const std::string& piece) {
  std::string all;
  for (int i = 0; i < count; ++i) all += piece;
  return all;
}

TEST(WebSockets, FloodsOfFramesWithoutAMessageAreCut) {
  SocketWorld world;
  const std::string begin = frame(Frame::text, "x", {.is_last = false});
  EXPECT_EQ(world.code_after(begin + times(30'000, frame(Frame::more, "x", {.is_last = false}))), 1008);
  EXPECT_LT(flood(world, times(10'000, frame(Frame::pong, ""))), std::size_t{32} << 20);
  EXPECT_LT(flood(world, times(10'000, frame(Frame::ping, ""))), std::size_t{32} << 20);
  SocketWorld open({}, [](const Request& request, Responder& responder) -> async::Task<> {
    auto upgraded = co_await responder.upgrade(request);
    while (co_await (*upgraded)->read()) continue;
  });
  open.run([&](SocketWorld&, SocketClient& client) -> async::Task<> {
    co_await client.say(begin);
    std::size_t sent = 0;
    const std::string piece = times(10'000, frame(Frame::more, "", {.is_last = false}));
    while (sent < std::size_t{64} << 20 && co_await client.say(piece)) sent += piece.size();
    EXPECT_LT(sent, std::size_t{32} << 20);
  });
}

TEST(WebSockets, AClientThatDoesNotWaitForAnswersIsClosed) {
  SocketWorld world;
  std::string many = frame(Frame::text, "think");
  for (int i = 0; i < 20; ++i) many += frame(Frame::text, "and this");
  EXPECT_EQ(world.code_after(std::move(many)), 1008);
  world.until_connections(0);
}

TEST(WebSockets, MessagesAndRequestsOfAllConnectionsAreBoundedTogether) {
  SocketWorld world({.max_request_bytes = 300'000});
  world.run([](SocketWorld& in, SocketClient& first) -> async::Task<> {
    co_await first.say(frame_head(Frame::text, 1'000'000) + std::string(250'000, 'm'));
    SocketClient second(in.loop);
    co_await second.open(in.server->port());
    co_await second.say(frame_head(Frame::text, 1'000'000) + std::string(100'000, 'm'));
    EXPECT_EQ((co_await second.next()).code(), 1013);
    auto body = co_await in.client->send(
        {.method = "POST", .url = in.server->url(), .body = std::string(100'000, 'x')}, in.deadline,
        &in.stop);
    EXPECT_EQ(body->status, 503);
    SocketClient small(in.loop);
    co_await small.open(in.server->port());
    co_await small.send("small");
    EXPECT_EQ((co_await small.next()).payload, "heard: small");
  });
  world.until_connections(0);
  world.run([](SocketWorld&, SocketClient& client) -> async::Task<> {
    co_await client.send(std::string(200'000, 'x'));
    EXPECT_EQ((co_await client.next()).op, Frame::text) << "what the others held is free again";
  });
}

TEST(WebSockets, IdleOnesAreBoundedInNumberAndInTime) {
  SocketWorld world({.max_sockets = 40, .socket_quiet_timeout = 150ms});
  kw::test::run_task(world.loop, [](SocketWorld* in) -> async::Task<bool> {
    std::vector<std::unique_ptr<SocketClient>> idle;
    int refused = 0;
    for (int i = 0; i < 60; ++i) {
      idle.push_back(std::make_unique<SocketClient>(in->loop));
      co_await idle.back()->open(in->server->port());
      if (idle.back()->answer.starts_with("HTTP/1.1 503 ")) ++refused;
    }
    EXPECT_EQ(refused, 20);
    EXPECT_EQ((co_await in->client->send({.url = in->server->url()}, in->deadline, &in->stop))->status, 426)
        << "other requests are served";
    EXPECT_EQ((co_await idle.front()->next()).code(), 1001);
    co_return true;
  }(&world));
  world.until_connections(1);  // that of the client for HTTP
  EXPECT_THAT(world.answer_to("/", ""), StartsWith("HTTP/1.1 101 "));
}

TEST(WebSockets, ASilentClientIsPingedAndThenCut) {
  SocketWorld world({.socket_idle_timeout = 60ms});
  world.run([](SocketWorld&, SocketClient& client) -> async::Task<> {
    EXPECT_EQ((co_await client.next()).op, Frame::ping);
    EXPECT_EQ((co_await client.next()).op, Frame::none) << "no pong came";
  });
  world.until_connections(0);
}

TEST(WebSockets, AClientThatDoesNotReadIsCut) {
  bool was_sent = true;
  SocketWorld world({.write_timeout = 60ms},
                    [&](const Request& request, Responder& responder) -> async::Task<> {
                      auto upgraded = co_await responder.upgrade(request);
                      was_sent = co_await (*upgraded)->write(std::string(std::size_t{64} << 20, 'x'));
                    });
  world.run([](SocketWorld& in, SocketClient&) -> async::Task<> {
    auto limit = async::Deadline::in(20s);
    while (in.server->connections() > 0 && !limit.passed()) co_await pause(2ms);
  });
  EXPECT_FALSE(was_sent);
  world.until_connections(0);
}

TEST(WebSockets, OverTlsTheyAreTheSame) {
  const Certificate made = make_certificate("127.0.0.1");
  const TemporaryFile certificate(made.certificate);
  const TemporaryFile key(made.key);
  SocketWorld world({.tls = {certificate.path(), key.path()}});
  boost::asio::ssl::context trusting(boost::asio::ssl::context::tls_client);
  auto with_client = [&](auto script) {
    kw::test::run_task(world.loop, [](auto* in, auto* tls, auto act) -> async::Task<bool> {
      SocketClient client(in->loop, tls);
      co_await client.open(in->server->port());
      EXPECT_THAT(client.answer, StartsWith("HTTP/1.1 101 "));
      co_await act(client);
      co_return true;
    }(&world, &trusting, std::move(script)));
    world.until_connections(0);
  };
  with_client([](SocketClient& client) -> async::Task<> {
    const std::string large(200'000, 'x');
    co_await client.say(frame(Frame::text, "a") + frame(Frame::text, large));
    EXPECT_EQ((co_await client.next()).payload, "heard: a");
    EXPECT_EQ((co_await client.next()).payload, "heard: " + large);
    co_await client.say(frame(Frame::text, "think") + frame(Frame::ping, "?"));
    EXPECT_EQ((co_await client.next()).op, Frame::pong);
    client.close();
  });
  with_client([](SocketClient& client) -> async::Task<> {
    co_await client.send("go away");
    EXPECT_EQ((co_await client.next()).code(), 1001);
  });
  with_client([](SocketClient& client) -> async::Task<> {
    co_await client.say(frame(Frame::close, "\x03\xe8"));
    EXPECT_EQ((co_await client.next()).code(), 1000);
    EXPECT_EQ((co_await client.next()).op, Frame::none);
  });
  with_client([](SocketClient& client) -> async::Task<> {
    co_await client.say(frame(Frame::text, "not masked", {.is_masked = false}));
    EXPECT_EQ((co_await client.next()).code(), 1002);
  });
}

TEST(WebSockets, TheEndOfTheServerEndsThem) {
  SocketWorld world;
  world.run([](SocketWorld& in, SocketClient& client) -> async::Task<> {
    co_await client.send("think");
    SocketClient idle(in.loop);
    co_await idle.open(in.server->port());
    in.server->stop();
    EXPECT_EQ((co_await client.next()).op, Frame::none);
    EXPECT_EQ((co_await idle.next()).op, Frame::none);
  });
  world.until_connections(0);
}

TEST(WebSockets, AHandlerThatThrowsEndsItsOwn) {
  SocketWorld world({}, [](const Request& request, Responder& responder) -> async::Task<> {
    auto upgraded = co_await responder.upgrade(request);
    co_await (*upgraded)->read();
    throw std::runtime_error("a fault");
  });
  EXPECT_EQ(world.code_after(frame(Frame::text, "x")), 0);
  world.until_connections(0);
}

}  // namespace
}  // namespace kw::http::test
