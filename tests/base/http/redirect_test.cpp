// Redirects: which are followed, which parts change, and which headers are not forwarded.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "world.h"

namespace kw::http::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Redirects /STATUS to `to`, and answers every other request with its own content.
Handler redirects_to(std::string to) {
  return [to](const Request& request, Responder& responder) -> async::Task<> {
    int status = std::atoi(request.url.c_str() + 1);
    if (status == 0)
      co_await echo(request, responder);
    else
      co_await responder.send({status, {{"Location", to}}, "elsewhere"});
  };
}

Request post(const std::string& url) {
  return {.method = "POST",
          .url = url,
          .headers = {{"Content-Type", "text/plain"}, {"Authorization", "Bearer key"}},
          .body = "body"};
}

TEST(Redirect, PostBecomesGetAfter301And302And303) {
  World world;
  auto server = world.serve(redirects_to("/there"));
  for (int status : {301, 302, 303}) {
    auto answer = world.send(post(fmt::format("{}/{}", server->url(), status)));
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_THAT(answer->body, HasSubstr("GET /there\n")) << status;
    EXPECT_THAT(answer->body, Not(HasSubstr("Content-"))) << status;
    EXPECT_EQ(header(answer->headers, "X-Length"), "0");
  }
}

TEST(Redirect, PostStaysPostAfter307And308) {
  World world;
  auto server = world.serve(redirects_to("/there"));
  for (int status : {307, 308}) {
    auto answer = world.send(post(fmt::format("{}/{}", server->url(), status)));
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_THAT(answer->body, HasSubstr("POST /there\n")) << status;
    EXPECT_THAT(answer->body, HasSubstr("Authorization: Bearer key\n"));
    EXPECT_TRUE(answer->body.ends_with("\nbody"));
  }
}

TEST(Redirect, AnotherHostDoesNotGetTheKey) {
  World world;
  auto other = world.serve(echo);
  auto server = world.serve(redirects_to(other->url() + "/there"));
  Request request = post(server->url() + "/307");
  request.headers.push_back({"Modal-Secret", "a key of another kind"});
  auto answer = world.send(request);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_THAT(answer->body, HasSubstr("POST /there\n"));
  EXPECT_THAT(answer->body, HasSubstr("Content-Type: text/plain\n"));
  EXPECT_THAT(answer->body, Not(HasSubstr("Authorization")));
  EXPECT_THAT(answer->body, Not(HasSubstr("Modal-Secret")));
  EXPECT_THAT(answer->body, HasSubstr("Host: " + other->url().substr(7) + "\n"));
}

TEST(Redirect, ALoopEnds) {
  World world({.max_redirects = 3});
  int asked = 0;
  auto server = world.serve([&](const Request&, Responder& responder) -> async::Task<> {
    ++asked;
    co_await responder.send({302, {{"Location", "/again"}}, ""});
  });
  auto answer = world.get(server->url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::redirected);
  EXPECT_EQ(asked, 4);
}

TEST(Redirect, NoSchemeButHttpIsFollowed) {
  World world;
  auto server = world.serve(redirects_to("file:///etc/passwd"));
  auto answer = world.get(server->url() + "/302");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::redirected);
}

TEST(Redirect, WithoutALocationItIsAnAnswer) {
  World world;
  auto server = world.serve(
      [](const Request&, Responder& responder) -> async::Task<> { co_await responder.send({304, {}, ""}); });
  EXPECT_EQ(world.get(server->url())->status, 304);
}

TEST(Redirect, ItsBodyIsNoPieceOfTheAnswer) {
  World world;
  auto server = world.serve(redirects_to("/there"));
  std::string seen;
  auto answer =
      world.get(server->url() + "/302", [&](std::string_view piece) { return seen += piece, true; });
  ASSERT_TRUE(answer);
  EXPECT_THAT(seen, Not(HasSubstr("elsewhere")));
  EXPECT_THAT(seen, HasSubstr("GET /there"));
}

}  // namespace
}  // namespace kw::http::test
