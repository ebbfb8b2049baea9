// The server against clients that misbehave.
#include "base/http/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "world.h"

namespace kw::http::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Sends raw bytes, and returns all bytes until the server closes.
std::string raw(World& world, const Server& server, std::string bytes) {
  return kw::test::run_task(world.loop,
                            [](World* in, const Server* to, std::string text) -> async::Task<std::string> {
                              auto socket = co_await dial(*in, *to);
                              co_await say(socket, std::move(text));
                              co_return co_await read_all(socket);
                            }(&world, &server, std::move(bytes)));
}

TEST(Server, MalformedRequestsGet400) {
  World world;
  auto server = world.serve(echo);
  EXPECT_THAT(raw(world, *server, "what is this\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(raw(world, *server, "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
}

TEST(Server, WhatIsRefusedUnreadIsSaidInTheServersOwnWords) {
  World world;
  ServerOptions options;
  options.refusal = [](int status) {
    return Response{status, {{"Content-Type", "application/json"}}, fmt::format("[{}]", status)};
  };
  auto server = world.serve(echo, options);
  EXPECT_THAT(raw(world, *server, "what is this\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("application/json"), HasSubstr("\r\n\r\n[400]")));
}

TEST(Server, AStrangersBodyIsNotWaitedFor) {
  World world;
  ServerOptions options;
  options.turn_away = [](const Request& head) -> std::optional<Response> {
    if (header(head.headers, "Key") == "right") return {};
    return Response{401, {}, head.method + head.url};
  };
  auto server = world.serve(echo, options);
  EXPECT_THAT(raw(world, *server, "POST /x HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nonly this"),
              AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("POST/x")));
  EXPECT_THAT(raw(world, *server, "POST /x HTTP/1.1\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 401 "), Not(HasSubstr("100 Continue"))));
  Request request{"POST", server->url(), {{"Key", "right"}}, std::string(1'000'000, 'x')};
  EXPECT_EQ(world.send(request)->status, 200);
}

TEST(Server, ABodyOverTheLimitGets413) {
  World world;
  auto server = world.serve(echo, {.max_body_bytes = 1000});
  EXPECT_THAT(raw(world, *server, "POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  auto answer = world.post(server->url(), std::string(2'000'000, 'x'));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(world.post(server->url(), std::string(1000, 'x'))->status, 200);
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  World world;
  auto server = world.serve(echo);
  std::string answers =
      raw(world, *server, "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answers,
              AllOf(HasSubstr("GET /1\n"), HasSubstr("GET /2\n"), HasSubstr("Connection: close\r\n")));
  EXPECT_LT(answers.find("GET /1"), answers.find("GET /2"));
}

TEST(Server, HttpOneDotZeroGetsNoChunks) {
  World world;
  auto server = world.serve([](const Request&, Responder& responder) -> async::Task<> {
    co_await responder.begin({200, {}, ""});
    co_await responder.write("one ");
    co_await responder.write("two");
    co_await responder.end();
  });
  std::string answer = raw(world, *server, "GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_TRUE(answer.ends_with("\r\n\r\none two"));
}

TEST(Server, AClientThatWaitsFor100GetsIt) {
  World world;
  auto server = world.serve(echo);
  std::string answer =
      kw::test::run_task(world.loop, [](World* in, const Server* to) -> async::Task<std::string> {
        auto socket = co_await dial(*in, *to);
        co_await say(
            socket,
            "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n");
        std::string go_on = co_await read_request(socket);
        EXPECT_EQ(go_on, "HTTP/1.1 100 Continue\r\n\r\n");
        co_await say(socket, "text");
        co_return co_await read_all(socket);
      }(&world, server.get()));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
}

TEST(Server, AHandlerThatThrowsOrSaysNothingIsAnsweredForWith500) {
  World world;
  auto server = world.serve([](const Request& request, Responder&) -> async::Task<> {
    if (request.url == "/throw") throw std::runtime_error("oh");
    co_return;
  });
  EXPECT_EQ(world.get(server->url() + "/throw")->status, 500);
  EXPECT_EQ(world.get(server->url() + "/nothing")->status, 500);
}

TEST(Server, AHandlerThatThrowsInMidAnswerBreaksIt) {
  World world;
  auto server = world.serve([](const Request&, Responder& responder) -> async::Task<> {
    co_await responder.begin({200, {}, ""});
    co_await responder.write("half");
    throw std::runtime_error("oh");
  });
  auto answer = world.get(server->url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::broken);
}

TEST(Server, AResetIsSeenAsABrokenConnection) {
  World world;
  auto server = world.serve([](const Request&, Responder& responder) -> async::Task<> {
    responder.reset();
    co_return;
  });
  auto answer = world.get(server->url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::broken);
}

TEST(Server, AHandlerHearsThatItsClientIsGone) {
  World world;
  bool gone = false;
  auto server = world.serve([&](const Request&, Responder& responder) -> async::Task<> {
    co_await responder.begin({200, {}, ""});
    while (co_await responder.write("piece")) co_await pause(1ms);
    gone = true;
  });
  kw::test::run_task(world.loop, [](World* in, const Server* to, bool* heard) -> async::Task<bool> {
    {
      auto socket = co_await dial(*in, *to);
      co_await say(socket, "GET / HTTP/1.1\r\n\r\n");
      co_await pause(10ms);
    }
    auto deadline = async::Deadline::in(10s);
    while (!*heard && !deadline.passed()) co_await pause(1ms);
    co_return true;
  }(&world, server.get(), &gone));
  EXPECT_TRUE(gone);
}

TEST(Server, ASlowClientDoesNotHoldUpOthers) {
  World world;
  auto server = world.serve(echo);
  std::string answer =
      kw::test::run_task(world.loop, [](World* in, const Server* to) -> async::Task<std::string> {
        auto slow = co_await dial(*in, *to);
        co_await say(slow, "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nha");
        Request request{.url = to->url()};
        auto other = co_await in->client->send(request, in->deadline, &in->stop);
        EXPECT_TRUE(other);
        co_await say(slow, "lf a day");
        std::string bytes(4096, '\0');
        bytes.resize(co_await slow.async_read_some(boost::asio::buffer(bytes), boost::asio::use_awaitable));
        co_return bytes;
      }(&world, server.get()));
  EXPECT_TRUE(answer.ends_with("half a day")) << answer;
}

TEST(Server, BeyondItsConnectionsItSays503) {
  World world;
  auto server = world.serve(echo, {.max_connections = 1});
  std::string answer =
      kw::test::run_task(world.loop, [](World* in, const Server* to) -> async::Task<std::string> {
        auto first = co_await dial(*in, *to);
        auto second = co_await dial(*in, *to);
        co_return co_await read_all(second);
      }(&world, server.get()));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
}

TEST(Server, StopEndsWhatIsUnderWay) {
  World world;
  bool began = false;
  bool ended = false;
  struct Note {
    bool* on;
    ~Note() { *on = true; }
  };
  auto server = world.serve([&](const Request&, Responder&) -> async::Task<> {
    Note note{&ended};
    began = true;
    co_await pause(1h);
  });
  boost::asio::co_spawn(
      world.loop,
      [](Server* to_stop, const bool* when) -> async::Task<> {
        while (!*when) co_await pause(1ms);
        to_stop->stop();
      }(server.get(), &began),
      boost::asio::detached);
  auto answer = world.get(server->url());
  EXPECT_FALSE(answer);
  auto later = world.get(server->url());
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().fault, Fault::unreachable);
  EXPECT_TRUE(ended);
}

TEST(Server, AProcessThatIsStartedMeanwhileGetsNoneOfItsSockets) {
  World world;
  std::string inherited;
  auto server = world.serve([&](const Request&, Responder& responder) -> async::Task<> {
    std::unique_ptr<FILE, int (*)(FILE*)> child(popen("ls -l /proc/self/fd < /dev/null 2> /dev/null", "r"),
                                                pclose);
    std::array<char, 4096> text{};
    inherited.assign(text.data(), fread(text.data(), 1, text.size(), child.get()));
    co_await responder.send({200, {}, ""});
  });
  ASSERT_EQ(world.get(server->url())->status, 200);
  EXPECT_THAT(inherited, AllOf(HasSubstr("pipe:"), Not(HasSubstr("socket:"))));
}

TEST(Server, APortThatIsTakenIsAnError) {
  World world;
  auto server = world.serve(echo);
  auto second = Server::listen(world.loop, {.port = server->port()}, echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr(std::to_string(server->port())));
}

TEST(Server, AHeaderOfAHandlerCannotSmuggle) {
  World world;
  auto server = world.serve([](const Request&, Responder& responder) -> async::Task<> {
    co_await responder.send({200, {{"X", "a\r\nY: b"}}, "text"});
  });
  EXPECT_EQ(world.get(server->url())->status, 500);
}

}  // namespace
}  // namespace kw::http::test
