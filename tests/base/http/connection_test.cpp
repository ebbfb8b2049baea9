// Kept-alive connections, waits that end before the answer, and many at once.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <boost/asio/detached.hpp>

#include "world.h"

namespace kw::http::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 4096; ++fd) count += fcntl(fd, F_GETFD) != -1 ? 1 : 0;
  return count;
}

TEST(KeepAlive, AConnectionServesManyRequests) {
  World world;
  RawServer server(world.loop, [](tcp::socket& socket, int) -> async::Task<> {
    for (;;) {
      co_await read_request(socket);
      co_await say(socket, kOk);
    }
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(world.get(server.url())->body, "ok");
  EXPECT_EQ(server.connections(), 1);
}

TEST(KeepAlive, AConnectionThatTheServerClosesIsNotKept) {
  World world;
  RawServer server(world.loop, [](tcp::socket& socket, int) -> async::Task<> {
    co_await read_request(socket);
    co_await say(socket, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    co_await until_closed(socket);
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(world.get(server.url())->body, "ok");
  EXPECT_EQ(server.connections(), 3);
}

TEST(KeepAlive, AStaleConnectionIsReplacedOnce) {
  World world;
  RawServer server(world.loop, [](tcp::socket& socket, int number) -> async::Task<> {
    co_await read_request(socket);
    co_await say(socket, kOk);
    co_await read_request(socket);
    if (number == 0) co_return cut(socket);  // while the next request arrives
    co_await say(socket, kOk);
  });
  EXPECT_TRUE(world.post(server.url(), "first"));
  auto second = world.post(server.url(), "second");
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_EQ(server.connections(), 2);
}

TEST(KeepAlive, AStaleConnectionThatHadAnsweredIsNotTriedAgain) {
  World world;
  RawServer server(world.loop, [](tcp::socket& socket, int) -> async::Task<> {
    co_await read_request(socket);
    co_await say(socket, kOk);
    co_await read_request(socket);
    co_await say(socket, "HTTP/1.1 200");
  });
  EXPECT_TRUE(world.get(server.url()));
  auto second = world.get(server.url());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().fault, Fault::broken);
  EXPECT_TRUE(second.error().answered);
  EXPECT_EQ(server.connections(), 1);
}

TEST(KeepAlive, WordsThatNobodyAskedForEndAConnection) {
  World world;
  RawServer server(world.loop, [](tcp::socket& socket, int) -> async::Task<> {
    co_await read_request(socket);
    co_await say(socket, kOk + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged");
    co_await until_closed(socket);
  });
  for (int i = 0; i < 2; ++i) EXPECT_EQ(world.get(server.url())->body, "ok");
  EXPECT_EQ(server.connections(), 2);
}

TEST(KeepAlive, AnAnswerEndedEarlyIsNotKeptUnlessItIsWhole) {
  World world;
  RawServer server(world.loop, [](tcp::socket& socket, int number) -> async::Task<> {
    co_await read_request(socket);
    std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
    co_await say(socket, number == 0 ? chunks : chunks + "0\r\n\r\n");
    co_await read_request(socket);
    co_await say(socket, kOk);
  });
  auto enough = [](std::string_view) { return false; };
  EXPECT_TRUE(world.get(server.url(), enough));
  EXPECT_TRUE(world.get(server.url(), enough));
  EXPECT_EQ(server.connections(), 2);
  EXPECT_EQ(world.get(server.url())->body, "ok");
  EXPECT_EQ(server.connections(), 2);
}

// A server that reads a request and does not answer.
RawServer::Script silent() {
  return [](tcp::socket& socket, int) -> async::Task<> { co_await until_closed(socket); };
}

TEST(Ends, ADeadlineIsATimeoutAndClosesTheConnection) {
  World world;
  RawServer server(world.loop, silent());
  int before = open_descriptors();
  world.deadline = async::Deadline::in(30ms);
  auto answer = world.get(server.url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::timeout);
  EXPECT_FALSE(answer.error().answered);
  EXPECT_LE(open_descriptors(), before + 1) << "the server's end alone is left";
}

TEST(Ends, AStopInMidRequestEndsIt) {
  World world;
  RawServer server(world.loop, [&world](tcp::socket& socket, int) -> async::Task<> {
    co_await read_request(socket);
    co_await say(socket, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    co_await pause(10ms);
    world.stop.request("Ctrl-C");
    co_await until_closed(socket);
  });
  auto answer = world.get(server.url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::stopped);
  EXPECT_TRUE(answer.error().answered);
  EXPECT_THAT(answer.error().what, HasSubstr("Ctrl-C"));
}

TEST(Ends, AStopBeforeSendsNothing) {
  World world;
  RawServer server(world.loop, silent());
  world.stop.request("earlier");
  auto answer = world.get(server.url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::stopped);
  EXPECT_EQ(server.connections(), 0);
}

TEST(Ends, AConnectionThatIsNotAcceptedTimesOut) {
  World world({.connect_timeout = 100ms});
  // A full backlog: further connections are neither accepted nor refused.
  tcp::acceptor acceptor(world.loop);
  acceptor.open(tcp::v4());
  acceptor.bind({boost::asio::ip::address_v4::loopback(), 0});
  acceptor.listen(0);
  std::vector<tcp::socket> fill;
  for (int i = 0; i < 4; ++i) {
    auto& socket = fill.emplace_back(world.loop);
    socket.async_connect(acceptor.local_endpoint(), boost::asio::detached);
  }
  auto answer = world.get(fmt::format("http://127.0.0.1:{}/", acceptor.local_endpoint().port()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::timeout);
}

struct Crowd {
  int right = 0;
  int left = 0;
};

async::Task<> one_of_many(World* world, std::string url, int number, Crowd* crowd) {
  Request request{.method = "POST", .url = std::move(url), .body = fmt::format("number {}", number)};
  auto answer = co_await world->client->send(request, world->deadline, &world->stop);
  EXPECT_TRUE(answer) << answer.error().what;
  if (answer && answer->body == request.body) ++crowd->right;
  if (--crowd->left == 0) world->loop.stop();
}

TEST(Crowd, FiveHundredAtOnceAllGetTheirOwnAnswer) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < 1200) GTEST_SKIP() << "too few descriptors are allowed here";
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, 1200);
  setrlimit(RLIMIT_NOFILE, &files);
  World world;
  constexpr int kMany = 500;
  int at_once = 0;
  auto server = world.serve([&](const Request& request, Responder& responder) -> async::Task<> {
    ++at_once;  // none is answered before all have arrived
    while (at_once < kMany && !world.deadline.passed()) co_await pause(5ms);
    co_await responder.send({200, {}, request.body});
  });
  Crowd crowd{.left = kMany};
  for (int i = 0; i < kMany; ++i)
    boost::asio::co_spawn(world.loop, one_of_many(&world, server->url(), i, &crowd), boost::asio::detached);
  world.loop.run();
  EXPECT_EQ(crowd.right, kMany);
  EXPECT_EQ(at_once, kMany);
}

}  // namespace
}  // namespace kw::http::test
