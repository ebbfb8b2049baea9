// The client against the server: the transfer of requests and answers.
#include <gmock/gmock.h>

#include "world.h"

namespace kw::http::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TEST(Exchange, ARequestArrivesWithMethodTargetHeadersAndBody) {
  World world;
  auto server = world.serve(echo);
  auto answer = world.send({.method = "POST",
                            .url = server->url() + "/v1/x?a=1#part",
                            .headers = {{"X-Own", "yes"}},
                            .body = "text"});
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 200);
  EXPECT_THAT(answer->body, HasSubstr("POST /v1/x?a=1\n"));
  EXPECT_THAT(answer->body, HasSubstr("X-Own: yes\n"));
  EXPECT_THAT(answer->body, HasSubstr("Accept-Encoding: identity\n"));
  EXPECT_THAT(answer->body, HasSubstr("User-Agent: kernelwright\n"));
  EXPECT_THAT(answer->body, HasSubstr("Host: " + server->url().substr(7) + "\n"));
  EXPECT_THAT(answer->body, HasSubstr("Content-Length: 4\n"));
  EXPECT_TRUE(answer->body.ends_with("\n\ntext"));
}

TEST(Exchange, ALargeBodyTravelsBothWays) {
  World world;
  auto server = world.serve(echo);
  std::string body(5'000'000, 'x');
  auto answer = world.post(server->url(), body);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(header(answer->headers, "x-length"), "5000000");
  EXPECT_TRUE(answer->body.ends_with(body));
}

async::Task<> three_pieces(const Request&, Responder& responder) {
  co_await responder.begin({200, {{"Content-Type", "text/event-stream"}}, ""});
  for (const char* piece : {"one ", "two ", "three"}) {
    co_await responder.write(piece);
    co_await pause(5ms);
  }
  co_await responder.end();
}

TEST(Exchange, PiecesComeAsTheyAreSent) {
  World world;
  auto server = world.serve(three_pieces);
  std::vector<std::string> pieces;
  auto answer = world.get(server->url(), [&](std::string_view piece) {
    pieces.emplace_back(piece);
    return true;
  });
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_THAT(pieces, testing::ElementsAre("one ", "two ", "three"));
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(header(answer->headers, "Content-Type"), "text/event-stream");
}

TEST(Exchange, ChunksAreCollectedWhereNobodyWantsPieces) {
  World world;
  auto server = world.serve(three_pieces);
  EXPECT_EQ(world.get(server->url())->body, "one two three");
}

TEST(Exchange, FalseEndsARequestEarlyAsASuccess) {
  World world;
  auto server = world.serve([](const Request&, Responder& responder) -> async::Task<> {
    co_await responder.begin({200, {}, ""});
    while (co_await responder.write("more ")) co_await pause(1ms);
  });
  int pieces = 0;
  auto answer = world.get(server->url(), [&](std::string_view) { return ++pieces < 3; });
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(pieces, 3);
}

TEST(Exchange, TheBodyOfAnErrorIsCollectedAlsoWherePiecesAreWanted) {
  World world;
  auto server = world.serve([](const Request&, Responder& responder) -> async::Task<> {
    co_await responder.send({429, {{"Retry-After", "1"}}, "slowly"});
  });
  auto answer = world.get(server->url(), [](std::string_view) { return ADD_FAILURE() << "a piece", true; });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 429);
  EXPECT_EQ(answer->body, "slowly");
}

TEST(Exchange, AnExceptionOfOnBodyReachesTheCaller) {
  World world;
  auto server = world.serve(three_pieces);
  EXPECT_THROW(world.get(server->url(), [](std::string_view) -> bool { throw std::runtime_error("mine"); }),
               std::runtime_error);
}

TEST(Exchange, TheAnswerToHeadHasNoBody) {
  World world;
  auto server = world.serve(echo);
  for (int i = 0; i < 2; ++i) {
    auto answer = world.send({.method = "HEAD", .url = server->url()});
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->body, "");
    EXPECT_NE(header(answer->headers, "Content-Length"), "0");
  }
}

TEST(Exchange, AHeaderWithALineBreakIsRefusedWithoutItsValue) {
  World world;
  auto server = world.serve(echo);
  auto answer =
      world.send({.url = server->url(), .headers = {{"Authorization", "Bearer secret\r\nX-Other: 1"}}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::malformed);
  EXPECT_THAT(answer.error().what, HasSubstr("Authorization"));
  EXPECT_THAT(answer.error().what, Not(HasSubstr("secret")));
}

TEST(Exchange, IPv6LiteralsWork) {
  World world;
  auto server = Server::listen(world.loop, {.address = "::1"}, echo);
  if (!server) GTEST_SKIP() << server.error().what;
  auto answer = world.get((*server)->url());
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_THAT(answer->body, HasSubstr("Host: [::1]:"));
}

TEST(Exchange, NamesAreLookedUp) {
  World world;
  auto server = world.serve(echo);
  auto answer = world.get("http://localhost:" + std::to_string(server->port()));
  ASSERT_TRUE(answer) << answer.error().what;
}

}  // namespace
}  // namespace kw::http::test
