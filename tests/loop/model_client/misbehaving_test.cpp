// Servers that break the protocol: each answer is classified, none is fatal, and the next is read normally.
#include <gmock/gmock.h>

#include "base/core/text.h"
#include "world.h"

namespace kw::llm {
namespace {

using namespace std::chrono_literals;
using test::Reply;
using test::World;
using testing::HasSubstr;

// The result for a server that always answers so; afterwards server and client work normally.
ChatFailure of(World& world, const Reply& reply) {
  world.mock.replies = {reply};
  auto answer = world.chat();
  EXPECT_FALSE(answer);
  world.mock.replies = {test::streamed("hi")};
  EXPECT_EQ(world.chat()->content, "hi");
  return answer ? ChatFailure{} : answer.error();
}

TEST(Misbehaving, TruncatedJson) {
  World world;
  auto failure = of(world, test::plain(R"({"choices":[{"message":{"content":"abc)"));
  EXPECT_EQ(failure.fault, ChatFault::malformed);
  EXPECT_EQ(failure.attempts, 3U);
}

TEST(Misbehaving, WrongTypes) {
  World world;
  EXPECT_EQ(of(world, test::plain(R"({"choices":{"message":1}})")).fault, ChatFault::malformed);
  EXPECT_EQ(of(world, test::events({R"({"choices":[{"delta":{"content":{}}}]})"})).fault,
            ChatFault::malformed);
  EXPECT_EQ(of(world, test::plain("<html>hello")).fault, ChatFault::malformed);
}

TEST(Misbehaving, TenMegabytesOfContent) {
  World world;
  auto failure = of(world, test::streamed(std::string(std::size_t{10} << 20, 'x')));
  EXPECT_EQ(failure.fault, ChatFault::malformed);
  EXPECT_EQ(failure.attempts, 1U);
  EXPECT_THAT(failure.what, HasSubstr("over 8388608 bytes"));
}

TEST(Misbehaving, EndlessContentInManyChunks) {
  World world;
  world.options.max_content_bytes = 100'000;
  Reply reply = test::events(std::vector<std::string>(2000, test::content_chunk(std::string(100, 'x'))));
  EXPECT_EQ(of(world, reply).fault, ChatFault::malformed);
}

TEST(Misbehaving, InvalidUtf8IsReplaced) {
  World world;
  world.mock.replies = {
      test::events({"{\"choices\":[{\"delta\":{\"content\":\"a\xFF"
                    "b\"},\"finish_reason\":\"stop\"}]}"})};
  auto answer = world.chat();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "a\uFFFDb");
}

TEST(Misbehaving, AnAnswerThatStopsToComeIsATimeout) {
  World world;
  world.options.http.idle_timeout = 300ms;
  world.options.max_attempts = 2;
  Reply reply = test::events({test::content_chunk("par"), test::content_chunk("t")});
  reply.end = Reply::End::hang;
  auto failure = of(world, reply);
  EXPECT_EQ(failure.fault, ChatFault::timeout);
  EXPECT_EQ(failure.attempts, 2U);
  EXPECT_EQ(failure.partial.content, "part");
}

TEST(Misbehaving, ASlowDripEndsWithTheRequestsTime) {
  World world;
  world.options.request_timeout = 500ms;
  Reply reply = test::events(std::vector<std::string>(200, test::content_chunk("x")));
  reply.between = 10ms;
  auto failure = of(world, reply);
  EXPECT_EQ(failure.fault, ChatFault::timeout);
  EXPECT_EQ(failure.attempts, 1U);
}

TEST(Misbehaving, AResetInMidStreamIsRetried) {
  World world;
  Reply reply = test::events({test::content_chunk("par")});
  reply.end = Reply::End::reset;
  world.mock.replies = {reply, reply, test::streamed("whole")};
  auto answer = world.chat();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "whole");
  EXPECT_EQ(answer->attempts, 3U);
  EXPECT_EQ(http::header(world.mock.requests.at(2).headers, "x-request-id"), "task/0/0/1~3");
}

TEST(Misbehaving, AResetEveryTimeIsAServerError) {
  World world;
  Reply reply = test::events({test::content_chunk("par")});
  reply.end = Reply::End::reset;
  auto failure = of(world, reply);
  EXPECT_EQ(failure.fault, ChatFault::server_error);
  EXPECT_EQ(failure.attempts, 4U);
  EXPECT_EQ(failure.partial.content, "par");
}

TEST(Misbehaving, AStreamWithoutAnEndIsRetried) {
  World world;
  auto failure = of(world, test::events({test::content_chunk("par")}));
  EXPECT_EQ(failure.fault, ChatFault::server_error);
  EXPECT_EQ(failure.attempts, 4U);
}

TEST(Misbehaving, AResetAfterTheEndIsNoMatter) {
  World world;
  Reply reply = test::streamed("whole");
  reply.end = Reply::End::reset;
  world.mock.replies = {reply};
  EXPECT_EQ(world.chat()->content, "whole");
  EXPECT_EQ(world.mock.requests.size(), 1U);
}

TEST(Misbehaving, AnErrorInMidStreamIsRetried) {
  World world;
  world.mock.replies = {
      test::events({test::content_chunk("par"), R"({"error":{"message":"engine died","code":500}})"}),
      test::streamed("whole")};
  EXPECT_EQ(world.chat()->content, "whole");
}

TEST(Misbehaving, AnErrorWithStatus200IsOne) {
  World world;
  auto failure = of(world, test::plain(R"({"object":"error","message":"bad words","code":400})"));
  EXPECT_EQ(failure.fault, ChatFault::bad_request);
  EXPECT_EQ(failure.attempts, 1U);
}

TEST(Misbehaving, AnEmptyAnswerIsEmpty) {
  World world;
  EXPECT_EQ(of(world, test::streamed("")).fault, ChatFault::empty);
}

TEST(Retries, FiveHundredsUpToTheLimit) {
  World world;
  auto failure = of(world, test::error(500, "broken"));
  EXPECT_EQ(failure.fault, ChatFault::server_error);
  EXPECT_EQ(failure.attempts, 4U);
  EXPECT_THAT(failure.what, HasSubstr("broken"));
  EXPECT_THAT(failure.what, HasSubstr("4 attempts"));
}

TEST(Retries, OverloadIsNamed) {
  World world;
  EXPECT_EQ(of(world, test::error(429, "slow down")).fault, ChatFault::overloaded);
}

TEST(Retries, NeverAfterOtherErrorsOfOurs) {
  for (int status : {400, 401, 403, 404, 413, 418}) {
    World world;
    auto failure = of(world, test::error(status, "no"));
    EXPECT_EQ(failure.attempts, 1U) << status;
    EXPECT_EQ(failure.fault,
              status == 401 || status == 403 ? ChatFault::unauthorised : ChatFault::bad_request)
        << status;
  }
}

TEST(Retries, RetryAfterIsKept) {
  World world;
  world.options.max_backoff = 200ms;
  Reply busy = test::error(503, "loading");
  busy.headers.push_back({"Retry-After", "0.08"});
  world.mock.replies = {busy, test::streamed("hi")};
  auto start = async::SteadyClock::now();
  EXPECT_TRUE(world.chat());
  EXPECT_GE(async::SteadyClock::now() - start, 80ms);
}

TEST(Retries, AServerThatIsGoneIsUnreachable) {
  World world;
  world.client();
  world.mock.close();
  auto answer = world.chat();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, ChatFault::unreachable);
  EXPECT_EQ(answer.error().attempts, 4U);
}

TEST(Retries, TheKeyIsNeverShown) {
  World world;
  world.options.api_key = "sk-verysecret";
  auto failure = of(world, test::error(400, "your key sk-verysecret is odd"));
  EXPECT_THAT(failure.what, HasSubstr("your key [key] is odd"));
}

// Stops it after a while; returns the time that the chat took beyond that.
std::chrono::milliseconds stopped_after(World& world, std::chrono::milliseconds wait, ChatFault& fault) {
  world.client();
  boost::asio::co_spawn(
      world.loop,
      [](World& one, std::chrono::milliseconds pause) -> async::Task<> {
        co_await async::sleep_until(async::Deadline::in(pause));
        one.stop.request("Ctrl-C");
      }(world, wait),
      [](std::exception_ptr) {});
  auto start = async::SteadyClock::now();
  auto answer = world.chat();
  fault = answer ? ChatFault::malformed : answer.error().fault;
  return std::chrono::duration_cast<std::chrono::milliseconds>(async::SteadyClock::now() - start - wait);
}

TEST(Stopping, EndsARequestAtOnce) {
  World world;
  world.mock.replies[0].before = 10s;
  ChatFault fault{};
  EXPECT_LT(stopped_after(world, 30ms, fault), 2s);
  EXPECT_EQ(fault, ChatFault::stopped);
}

TEST(Stopping, EndsABackoffAtOnce) {
  World world;
  world.options.max_backoff = 10s;
  Reply busy = test::error(503, "busy");
  busy.headers.push_back({"Retry-After", "5"});
  world.mock.replies = {busy};
  ChatFault fault{};
  EXPECT_LT(stopped_after(world, 50ms, fault), 2s);
  EXPECT_EQ(fault, ChatFault::stopped);
}

TEST(Stopping, EndsTheWaitForASlotAtOnce) {
  World world;
  world.options.in_flight = 1;
  world.mock.replies[0].before = 10s;
  world.client();
  boost::asio::co_spawn(
      world.loop,
      [](World& one) -> async::Task<> {
        co_await async::sleep_until(async::Deadline::in(30ms));
        one.stop.request("Ctrl-C");
      }(world),
      [](std::exception_ptr) {});
  for (const auto& answer : world.chats(5)) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().fault, ChatFault::stopped);
  }
  EXPECT_EQ(world.mock.requests.size(), 1U);
}

}  // namespace
}  // namespace kw::llm
