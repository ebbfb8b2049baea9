// The answers of a viewer over real sockets.
#include "view/viewer.h"

#include <gmock/gmock.h>

#include "base/core/files.h"
#include "types/review.h"
#include "view_world.h"

namespace kw::view::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Page, CarriesItsTokenAndAPolicyForThisServer) {
  World world;
  world.open();
  auto answer = world.get("/");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(world.token.size(), 32U);
  EXPECT_EQ(http::header(answer.headers, "Content-Security-Policy"), page_with("").policy);
}

TEST(EveryResponse, HasTheSafeHeaders) {
  World world;
  world.open();
  for (const char* target : {"/", "/api/index", "/api/nothing", "/favicon.ico", "/api/search?text="}) {
    auto answer = world.get(target);
    EXPECT_EQ(http::header(answer.headers, "X-Content-Type-Options"), "nosniff") << target;
    EXPECT_EQ(http::header(answer.headers, "Cache-Control"), "no-store") << target;
    EXPECT_EQ(http::header(answer.headers, "Referrer-Policy"), "no-referrer") << target;
    EXPECT_THAT(std::string(http::header(answer.headers, "Content-Security-Policy")),
                HasSubstr("frame-ancestors 'none'"))
        << target;
    EXPECT_EQ(http::header(answer.headers, "Access-Control-Allow-Origin"), "") << target;
  }
}

TEST(Index, IsNotSentAgainWhileItIsTheSame) {
  World world;
  world.rows->add("a", {});
  world.open();
  auto first = world.get("/api/index");
  std::string etag(http::header(first.headers, "ETag"));
  EXPECT_THAT(first.body, HasSubstr("\"a\""));
  auto again = world.get("/api/index", {{"If-None-Match", etag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(world.get("/api/index", {{"If-None-Match", "\"other\""}}).status, 200);
}

TEST(Detail, IsFoundByItsKey) {
  World world;
  world.rows->add("a b/ü+#1", {{"kernel_code", "x"}});
  world.open();
  EXPECT_THAT(world.get("/api/detail?key=a%20b%2F%C3%BC%2B%231").body, HasSubstr("kernel_code"));
  EXPECT_THAT(world.get("/api/detail?key=a+b%2F%C3%BC%2B%231").body, HasSubstr("kernel_code"));
  EXPECT_EQ(world.get("/api/detail?key=none").status, 404);
  EXPECT_EQ(world.get("/api/detail").status, 400);
}

TEST(Paths, ThatAreNoneAreRefused) {
  World world;
  world.open();
  for (const char* target : {"/etc/passwd", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                             "/api/../index.html", "/api/", "/api/index/", "/api/index%00", "/api/runs/.."})
    EXPECT_EQ(world.get(target).status, 404) << target;
}

TEST(Events, TellOfANewRow) {
  World world;
  world.rows->add("a", {});
  world.open();
  std::string seen;
  world.ask("GET", "/api/events", {}, "", [&](std::string_view piece) {
    seen += piece;
    if (seen.contains("\"rows\":1") && !seen.contains("\"rows\":2") && world.rows->version() == 2)
      world.rows->add("b", {});
    return !seen.contains("\"rows\":2");
  });
  EXPECT_THAT(seen,
              HasSubstr("event: changed\nid: 1\ndata: {\"version\":1,\"rows\":1,\"state\":\"unfinished\"}"));
  EXPECT_THAT(seen, HasSubstr("\"version\":2,\"rows\":2"));
}

TEST(Events, SendAHeartbeatWhileNothingChanges) {
  World world;
  world.options.heartbeat = std::chrono::milliseconds(20);
  world.open();
  std::string seen;
  world.ask("GET", "/api/events", {}, "", [&](std::string_view piece) {
    seen += piece;
    return !seen.contains("\n\n:\n\n:\n\n");
  });
  EXPECT_THAT(seen, EndsWith("}\n\n:\n\n:\n\n"));
}

TEST(Inputs, WhoseReadingThrowsKeepTheirRows) {
  World world;
  world.rows->add("a", {});
  world.open();
  ASSERT_EQ(world.get("/api/index").status, 200);
  world.rows->refuse("no more memory");
  auto live = kw::test::run_task(world.loop, world.library->find(""));
  ASSERT_TRUE(live);
  auto look = [](std::shared_ptr<Live> at) -> async::Task<bool> {
    co_await at->look();
    co_return true;
  };
  EXPECT_TRUE(kw::test::run_task(world.loop, look(*live)));
  EXPECT_THAT(world.get("/api/index").body, HasSubstr("\"a\""));
}

TEST(Events, OfTooManyClientsAreRefused) {
  World world;
  world.options.most_streams = 0;
  world.open();
  EXPECT_EQ(world.get("/api/events").status, 503);
  EXPECT_EQ(world.get("/api/index").status, 200);
}

TEST(SearchOverHttp, StreamsItsHits) {
  World world;
  world.rows->add("a", {{"kernel_code", "tl.load(x)"}});
  world.open();
  EXPECT_THAT(
      world.get("/api/search?text=tl.load%28&limit=5").body,
      StartsWith("{\"key\":\"a\",\"turn\":null,\"field\":\"code\",\"line\":1,\"text\":\"tl.load(x)\"}\n"));
  EXPECT_EQ(world.get("/api/search?text=").status, 400);
  EXPECT_EQ(world.get("/api/search?text=a&limit=x").status, 400);
  EXPECT_EQ(world.get("/api/search?text=" + std::string(2000, 'x')).status, 400);
}

TEST(ReviewOverHttp, StoresALabelAtOnce) {
  World world;
  world.rows->add("a", verdict_detail("t", "code"));
  world.open();
  EXPECT_EQ(world.label({{"key", "a"}, {"reviewer", "Ada"}, {"label", "suspicious"}, {"note", "n"}}).status,
            200);
  auto log = read_review_log(review_log_path(world.path));
  ASSERT_TRUE(log);
  ASSERT_EQ(log->entries.size(), 1U);
  EXPECT_EQ(log->entries[0].label, ReviewLabel::suspicious);
  EXPECT_EQ(log->entries[0].answer.candidate_sha256, "sha of code");
  auto queue = world.get("/api/review/queue?reviewer=Ada&count=5&seed=1");
  EXPECT_THAT(queue.body, HasSubstr(R"("labels":{"a":{"label":"suspicious","note":"n"}})"));
}

TEST(ReviewOverHttp, RefusesWhatIsNoLabel) {
  World world;
  world.rows->add("a", verdict_detail("t", "code"));
  world.open();
  EXPECT_EQ(world.label({{"key", "a"}, {"reviewer", "Ada"}, {"label", "splendid"}}).status, 400);
  EXPECT_EQ(world.label({{"key", "gone"}, {"reviewer", "Ada"}, {"label", "good"}}).status, 404);
  EXPECT_EQ(world.ask("POST", "/api/review", {}, "{}").status, 403);
  EXPECT_EQ(world.ask("POST", "/api/index", {{"X-Kernelwright-Token", world.token}}, "{}").status, 405);
  EXPECT_FALSE(std::filesystem::exists(review_log_path(world.path)));
}

TEST(ReviewOverHttp, RefusesALongBody) {
  World world;
  world.open();
  auto answer =
      world.ask("POST", "/api/review", {{"X-Kernelwright-Token", world.token}}, std::string(100'000, ' '));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(http::header(answer.headers, "X-Content-Type-Options"), "nosniff");
}

TEST(KeyOverHttp, OpensThePageByTicketOrForm) {
  World world;
  world.gate.key = "open sesame";
  world.open();
  EXPECT_EQ(world.token, "");
  EXPECT_EQ(world.get("/api/index").status, 401);
  EXPECT_EQ(http::header(world.get("/").headers, "Referrer-Policy"), "same-origin");  // of the form
  EXPECT_THAT(world.viewer->first_target(), StartsWith("/?ticket="));
  auto welcome = world.get(world.viewer->first_target());
  EXPECT_EQ(welcome.status, 200);
  EXPECT_THAT(welcome.body, Not(HasSubstr("ticket")));
  std::string cookie(http::header(welcome.headers, "Set-Cookie"));
  cookie.resize(cookie.find(';'));
  EXPECT_EQ(world.get("/api/index", {{"Cookie", cookie}}).status, 200);
  EXPECT_NE(World::token_of(world.get("/", {{"Cookie", cookie}}).body), "");
  EXPECT_EQ(world.ask("POST", "/enter", {}, "key=wrong").status, 403);
  EXPECT_EQ(http::header(world.ask("POST", "/enter", {}, "key=open+sesame").headers, "Set-Cookie").empty(),
            false);
}

TEST(KeyOverHttp, IsAskedForBeforeABodyIsRead) {
  World world;
  world.gate.key = "open sesame";
  world.open();
  EXPECT_EQ(world.ask("POST", "/api/review", {}, std::string(60'000, ' ')).status, 401);
}

TEST(Form, IsDecoded) {
  EXPECT_EQ(form_value("a=1&b=x+y%26z&a=2", "b"), "x y&z");
  EXPECT_EQ(form_value("a=1&b=x+y%26z&a=2", "a"), "1");
  EXPECT_EQ(form_value("a", "a"), "");
  EXPECT_EQ(form_value("", "a"), std::nullopt);
}

}  // namespace
}  // namespace kw::view::test
