// The first messages with a service.
#include <gmock/gmock.h>

#include "world.h"

namespace kw::remote::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string error_of(const Result<>& result) {
  return result ? "" : result.error().what + " -> " + result.error().remedy;
}

TEST(Start, TheServiceSaysHowMuchAtOnceAndUnderWhichProtocol) {
  World world;
  world.options.settings.correctness_trials = 3;
  ASSERT_TRUE(world.connect());
  EXPECT_EQ(world.verifier->width(), 8U);
  EXPECT_EQ(world.verifier->protocol(), world.service.protocol + "-3");
  ASSERT_EQ(world.service.options_seen.size(), 1U);
  EXPECT_EQ(world.service.options_seen[0].at("correctness_trials").to_number<int>(), 3);
}

TEST(Start, WhoAsksMaySayHowMuchAtOnce) {
  World world;
  world.options.in_flight = 3;
  ASSERT_TRUE(world.connect());
  EXPECT_EQ(world.verifier->width(), 3U);
}

TEST(Start, AnotherOptionIsAnotherProtocolWhichTheServiceKnows) {
  World world;
  ASSERT_TRUE(world.connect());
  JobOptions other;
  other.correctness_trials = 2;
  EXPECT_EQ(world.verifier->protocol_with({}), world.service.protocol);
  EXPECT_NE(world.verifier->protocol_with(other), world.service.protocol);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(*run_task(world.loop, world.verifier->find_protocol(other)), world.service.protocol + "-2");
  EXPECT_EQ(world.service.asked["POST /v1/protocol"], 2);  // once at the start
  Job one = job(1);
  one.options = other;
  EXPECT_EQ(world.verify(one)->environment.protocol, world.service.protocol + "-2");
}

TEST(Start, WhereNobodyListensItSaysSoAtOnce) {
  World world;
  world.service.kill();
  EXPECT_THAT(error_of(world.connect()), AllOf(HasSubstr("cannot connect to"), HasSubstr("running")));
}

TEST(Start, AnotherProgramAtTheAddressIsNamedSo) {
  World world;
  for (const auto& answer :
       {http::Response{200, {{"Content-Type", "text/html"}}, "<html>hello</html>"},
        http::Response{404, {}, "not found"}, json_response(200, {{"hello", "world"}})}) {
    world.service.instead = [&](const http::Request&) { return std::optional(answer); };
    EXPECT_THAT(error_of(world.connect()),
                AllOf(HasSubstr("the evaluator at " + world.service.url()), HasSubstr("another program")))
        << answer.body;
  }
}

TEST(Start, AServiceOfAnotherKindIsNamedSo) {
  World world;
  world.service.facts = {{"protocol", nullptr}};
  EXPECT_THAT(error_of(world.connect()), HasSubstr("in a form that Kernelwright's service never uses"));
}

TEST(Start, AKeyThatItDoesNotTakeIsSaidAndNotShown) {
  World world;
  world.options.keys = {{"Authorization", "Bearer secret"}};
  world.options.key_advice = "set THE_KEY";
  world.service.instead = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.url == "/health") return {};
    return error_response(401, "who are you?");
  };
  EXPECT_THAT(error_of(world.connect()),
              AllOf(HasSubstr("401: who are you?"), HasSubstr("set THE_KEY"), Not(HasSubstr("secret"))));
  EXPECT_EQ(http::header(world.service.last_headers, "Authorization"), "Bearer secret");
}

TEST(Start, AServiceThatStartsIsWaitedForWithAWord) {
  World world;
  world.service.health = "starting";
  beside(world.loop, [](World* in) -> async::Task<> {
    while (in->said.empty()) co_await sleep(1ms);
    in->service.health = "ready";
  }(&world));
  ASSERT_TRUE(world.connect());
  EXPECT_THAT(world.said, testing::ElementsAre(HasSubstr("is starting: a test")));
}

TEST(Start, NobodyWaitsForAServiceThatWillNotTakeTheKey) {
  World world;
  world.service.health = "starting";
  world.service.instead = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.url == "/health") return {};
    return error_response(401, "who are you?");
  };
  EXPECT_THAT(error_of(world.connect()), HasSubstr("401"));
  EXPECT_THAT(world.said, testing::IsEmpty());
}

TEST(Start, AServiceThatNeverIsReadyIsGivenUp) {
  World world;
  world.options.pace.patience = 30ms;
  world.service.health = "failing";
  EXPECT_THAT(error_of(world.connect()), AllOf(HasSubstr("is failing"), HasSubstr("--evaluator-patience")));
}

TEST(Start, OptionsThatItRefusesAreNamed) {
  World world;
  world.service.instead = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.url != "/v1/protocol") return {};
    return error_response(400, "options.timeout_s is above 60", "options.timeout_s");
  };
  EXPECT_THAT(error_of(world.connect()), HasSubstr("options.timeout_s is above 60"));
}

TEST(Start, AUrlThatIsNoneIsNamed) {
  World world;
  world.options.url = "localhost:8900";
  EXPECT_THAT(error_of(world.connect()), HasSubstr("http://localhost:8900"));
  world.options.url = "http://user:secret@localhost:8900";
  EXPECT_THAT(error_of(world.connect()), AllOf(HasSubstr("password"), Not(HasSubstr("secret"))));
}

TEST(Start, AServiceMayLieBelowAPath) {
  World world;
  world.options.url = world.service.url() + "/below/";
  std::vector<std::string> urls;
  world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
    urls.push_back(request.url);
    return {};
  };
  EXPECT_FALSE(world.connect());
  EXPECT_THAT(urls, Contains("/below/health"));
}

TEST(Start, AStopEndsTheWait) {
  World world;
  world.service.health = "starting";
  beside(world.loop, [](World* in) -> async::Task<> {
    while (in->said.empty()) co_await sleep(1ms);
    in->stop.request("enough");
  }(&world));
  auto began = async::SteadyClock::now();
  EXPECT_FALSE(world.connect());
  EXPECT_LT(async::ms_since(began), 1000);
}

}  // namespace
}  // namespace kw::remote::test
