// Servers that violate HTTP: each is classified, none is fatal.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "world.h"

namespace kw::http::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Answers every connection with these bytes, and closes.
RawServer::Script says(std::string bytes) {
  return [bytes](tcp::socket& socket, int) -> async::Task<> {
    co_await read_request(socket);
    co_await say(socket, bytes);
  };
}

Failure failure_of(World& world, const std::string& url) {
  auto answer = world.get(url);
  EXPECT_FALSE(answer) << answer->status << " " << answer->body.substr(0, 100);
  return answer ? Failure{} : answer.error();
}

TEST(BadServer, ABodyCutShortIsBroken) {
  World world;
  RawServer server(world.loop, says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"));
  Failure failure = failure_of(world, server.url());
  EXPECT_EQ(failure.fault, Fault::broken);
  EXPECT_TRUE(failure.answered);
  EXPECT_THAT(failure.what, HasSubstr("127.0.0.1"));
}

TEST(BadServer, ChunksWithoutAnEndAreBrokenAfterTheirPieces) {
  World world;
  RawServer server(world.loop, says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"));
  std::string seen;
  auto answer = world.get(server.url(), [&](std::string_view piece) { return seen += piece, true; });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::broken);
  EXPECT_EQ(seen, "hello");
}

TEST(BadServer, AHeaderCutShortIsBroken) {
  World world;
  RawServer server(world.loop, says("HTTP/1.1 200 OK\r\nContent-Le"));
  Failure failure = failure_of(world, server.url());
  EXPECT_EQ(failure.fault, Fault::broken);
  EXPECT_TRUE(failure.answered);
}

TEST(BadServer, OneThatSaysNothingIsBrokenAndDidNotAnswer) {
  World world;
  RawServer server(world.loop, says(""));
  Failure failure = failure_of(world, server.url());
  EXPECT_EQ(failure.fault, Fault::broken);
  EXPECT_FALSE(failure.answered);
  EXPECT_EQ(server.connections(), 1) << "only a kept-alive connection is tried again";
}

TEST(BadServer, GarbageIsMalformedAtOnce) {
  World world;
  RawServer server(world.loop, [](tcp::socket& socket, int) -> async::Task<> {
    co_await say(socket, "SSH-2.0-OpenSSH");
    co_await until_closed(socket);
  });
  EXPECT_EQ(failure_of(world, server.url()).fault, Fault::malformed);
}

TEST(BadServer, WrongLengthsAreMalformed) {
  World world;
  for (const char* head : {"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "HTTP/1.1 2OO OK\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n"}) {
    RawServer server(world.loop, says(head));
    EXPECT_EQ(failure_of(world, server.url()).fault, Fault::malformed) << head;
  }
}

TEST(BadServer, AChunkLineWithoutAnEndIsMalformed) {
  World world({.max_header_bytes = 4096});
  RawServer server(world.loop, says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" +
                                    std::string(100'000, 'x')));
  EXPECT_EQ(failure_of(world, server.url()).fault, Fault::malformed);
}

TEST(BadServer, ASlowDripEndsAtTheIdleTimeout) {
  World world({.idle_timeout = 50ms});
  RawServer server(world.loop, [](tcp::socket& socket, int) -> async::Task<> {
    co_await read_request(socket);
    co_await say(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
    for (auto wait : {5ms, 5ms, 5ms, 20'000ms}) {
      co_await say(socket, "x");
      co_await pause(wait);
    }
  });
  auto start = async::SteadyClock::now();
  Failure failure = failure_of(world, server.url());
  EXPECT_EQ(failure.fault, Fault::timeout);
  EXPECT_TRUE(failure.answered);
  EXPECT_THAT(failure.what, HasSubstr("silent"));
  EXPECT_LT(async::ms_since(start), 5'000);
}

TEST(BadServer, ADripThatGoesOnIsNotIdle) {
  World world({.idle_timeout = 200ms});
  RawServer server(world.loop, [](tcp::socket& socket, int) -> async::Task<> {
    co_await read_request(socket);
    co_await say(socket, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
    for (int i = 0; i < 10; ++i) {
      co_await pause(30ms);
      co_await say(socket, "x");
    }
  });
  auto answer = world.get(server.url());
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->body, "xxxxxxxxxx");
}

TEST(BadServer, AResetInMidBodyIsBroken) {
  World world;
  RawServer server(world.loop, [](tcp::socket& socket, int) -> async::Task<> {
    co_await read_request(socket);
    co_await say(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome");
    co_await pause(10ms);
    cut(socket);
  });
  Failure failure = failure_of(world, server.url());
  EXPECT_EQ(failure.fault, Fault::broken);
  EXPECT_TRUE(failure.answered);
}

TEST(BadServer, ABodyOverTheLimitIsTooLargeWithOrWithoutALength) {
  World world({.max_body_bytes = 1'000'000});
  std::string body(10'000'000, 'x');
  for (const std::string& head : {std::string("Content-Length: 10000000\r\n"), std::string()}) {
    RawServer server(world.loop, says("HTTP/1.1 200 OK\r\n" + head + "\r\n" + body));
    EXPECT_EQ(failure_of(world, server.url()).fault, Fault::too_large) << head;
  }
}

TEST(BadServer, AChunkedBodyOverTheLimitIsTooLargeAlsoInPieces) {
  World world({.max_body_bytes = 10'000});
  std::string chunk = "1000\r\n" + std::string(4096, 'x') + "\r\n";
  RawServer server(world.loop, says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk +
                                    chunk + "0\r\n\r\n"));
  auto answer = world.get(server.url(), [](std::string_view) { return true; });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::too_large);
}

TEST(BadServer, HugeHeadersAreTooLarge) {
  World world({.max_header_bytes = 16'384});
  RawServer server(world.loop, says("HTTP/1.1 200 OK\r\nX-Big: " + std::string(1'000'000, 'x') + "\r\n\r\n"));
  EXPECT_EQ(failure_of(world, server.url()).fault, Fault::too_large);
}

TEST(BadServer, HeadersUpToTheLimitAreRead) {
  World world;
  RawServer server(world.loop, says("HTTP/1.1 200 OK\r\nX-Big: " + std::string(60'000, 'x') + "\r\n\r\n"));
  auto answer = world.get(server.url());
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(header(answer->headers, "X-Big").size(), 60'000);
}

TEST(BadServer, ABodyWithoutALengthEndsWithTheConnection) {
  World world;
  RawServer server(world.loop, says("HTTP/1.0 200 OK\r\n\r\nall of it"));
  auto answer = world.get(server.url());
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->body, "all of it");
}

TEST(BadServer, InterimAnswersAreSkipped) {
  World world;
  RawServer server(world.loop, says("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                                    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  auto answer = world.get(server.url());
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "ok");
  EXPECT_EQ(header(answer->headers, "Link"), "");
}

TEST(BadServer, AnAnswerBeforeTheBodyWasReadIsTheAnswer) {
  World world;
  RawServer server(world.loop, [](tcp::socket& socket, int) -> async::Task<> {
    co_await say(socket, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n");
    co_await until_closed(socket);
  });
  auto answer = world.post(server.url(), std::string(3'000'000, 'x'));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 413);
}

TEST(BadServer, NobodyThereIsUnreachable) {
  World world;
  std::uint16_t port = RawServer(world.loop, says("")).port();
  Failure failure = failure_of(world, fmt::format("http://127.0.0.1:{}/", port));
  EXPECT_EQ(failure.fault, Fault::unreachable);
  EXPECT_THAT(failure.remedy, HasSubstr("running"));
}

}  // namespace
}  // namespace kw::http::test
