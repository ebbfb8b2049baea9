// The client against a mock server: the requests, the answers read, and the tries.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>

#include "world.h"

namespace kw::llm {
namespace {

using namespace std::chrono_literals;
using test::World;
using testing::HasSubstr;

TEST(Connect, SettlesTheModel) {
  World world;
  EXPECT_EQ(world.client().model().name, "m");
  EXPECT_EQ(world.client().model().max_model_len, 4096U);
  EXPECT_EQ(world.client().model().server, "vllm");
}

TEST(Connect, SaysWhatToDoWhereNobodyIsThere) {
  World world;
  world.options.base_url = "http://127.0.0.1:1";
  auto client = world.connect();
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().what, HasSubstr("127.0.0.1:1"));
  EXPECT_NE(client.error().remedy, "");
}

TEST(Connect, TakesANamedModelOfAServerWithoutAList) {
  World world;
  world.mock.models.status = 404;
  EXPECT_FALSE(world.connect());
  world.options.model = "mine";
  EXPECT_EQ(world.client().model().name, "mine");
  EXPECT_EQ(world.client().model().max_model_len, std::nullopt);
  EXPECT_TRUE(world.chat());
}

TEST(Connect, FindsV1BelowAnAddressWithoutIt) {
  World world;
  world.options.base_url = world.mock.url() + "/v1/chat/completions";
  EXPECT_TRUE(world.chat());
}

TEST(Connect, RefusalsOfTheKeyDoNotShowIt) {
  World world;
  world.options.api_key = "sk-verysecret";
  world.mock.models = test::error(401, "bad key sk-verysecret given");
  auto client = world.connect();
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().what, HasSubstr("bad key [key] given"));
  EXPECT_THAT(client.error().remedy, HasSubstr("OPENAI_API_KEY"));
}

TEST(Connect, SomethingElseThanAListIsAnError) {
  World world;
  world.mock.models = test::plain("<html>welcome");
  EXPECT_FALSE(world.connect());
}

TEST(Connect, AKeyThatCannotStandInAHeaderIsAnErrorThatDoesNotShowIt) {
  World world;
  world.options.api_key = "sk-one\r\nX: two";
  auto client = world.connect();
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().what.find("sk-one"), std::string::npos);
}

TEST(Probe, ListsTheModels) {
  World world;
  world.mock.models = test::plain(R"({"data":[{"id":"a","owned_by":"vllm"},{"id":"b","parent":"a"}]})");
  http::Client http(world.loop);
  auto found = test::run(world.loop, probe(http, world.options, world.stop));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->models.size(), 2U);
  EXPECT_EQ(found->server, "vllm");
}

TEST(Chat, AnAnswerComesWithAllThatIsKnownOfIt) {
  World world;
  auto answer = world.chat();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "hi");
  EXPECT_EQ(answer->model, "m");
  EXPECT_EQ(answer->finish_reason, "stop");
  EXPECT_EQ(answer->usage.prompt_tokens, 11);
  EXPECT_EQ(answer->usage.completion_tokens, 7);
  EXPECT_EQ(answer->attempts, 1U);
  EXPECT_GT(answer->total_ms, 0);
  EXPECT_LE(answer->first_token_ms.value(), answer->total_ms);
}

TEST(Chat, TheRequestCarriesKeyIdAndLimit) {
  World world;
  world.options.api_key = "sk-verysecret";
  ASSERT_TRUE(world.chat());
  const auto& headers = world.mock.requests.at(0).headers;
  EXPECT_EQ(http::header(headers, "authorization"), "Bearer sk-verysecret");
  EXPECT_EQ(http::header(headers, "x-request-id"), "task/0/0/1");
  auto tokens = world.mock.bodies.at(0).at("max_completion_tokens").as_int64();
  EXPECT_GT(tokens, 3900);
  EXPECT_LT(tokens, 4096);
}

TEST(Chat, PlainAnswersAreAskedForAndTaken) {
  World world;
  world.options.stream = false;
  world.mock.replies = {test::plain(R"({"choices":[{"message":{"content":"c"},"finish_reason":"stop"}]})")};
  auto answer = world.chat();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "c");
  EXPECT_EQ(answer->model, "m");
  EXPECT_FALSE(world.mock.bodies.at(0).at("stream").as_bool());
}

TEST(Chat, AServerThatDoesNotStreamIsUnderstood) {
  World world;
  world.mock.replies = {test::plain(R"({"choices":[{"message":{"content":"c"},"finish_reason":"stop"}]})")};
  EXPECT_EQ(world.chat()->content, "c");
}

TEST(Chat, ReasoningIsFoundInAllFourPlaces) {
  for (const char* delta : {R"({"reasoning":"thought"})", R"({"reasoning_content":"thought"})",
                            R"({"reasoning_details":[{"type":"reasoning.text","text":"thought"}]})",
                            R"({"content":"<think>thought</think>"})"}) {
    World world;
    world.mock.replies = {
        test::events({fmt::format(R"({{"choices":[{{"delta":{}}}]}})", delta), test::content_chunk("c"),
                      R"({"choices":[{"delta":{},"finish_reason":"stop"}]})", "[DONE]"})};
    auto answer = world.chat();
    ASSERT_TRUE(answer) << delta;
    EXPECT_EQ(answer->content, "c") << delta;
    EXPECT_EQ(answer->reasoning, "thought") << delta;
  }
}

TEST(Chat, AFieldThatTheServerRefusesIsLeftOutFromThenOn) {
  World world;
  world.mock.replies = {
      test::plain(
          R"({"detail":"Unsupported fields in the request: {'stream_options', 'max_completion_tokens'}"})",
          422),
      test::streamed("hi")};
  ASSERT_TRUE(world.chat());
  ASSERT_TRUE(world.chat());
  ASSERT_EQ(world.mock.bodies.size(), 3U);
  for (std::size_t i : {1U, 2U}) {
    EXPECT_FALSE(world.mock.bodies[i].contains("stream_options"));
    EXPECT_TRUE(world.mock.bodies[i].contains("max_tokens"));
  }
}

TEST(Chat, AnOverflowShrinksOnce) {
  World world;
  auto overflow =
      test::error(400,
                  "This model's maximum context length is 4096 tokens. However, you requested 4500 tokens "
                  "(1000 in the messages, 3500 in the completion).");
  world.mock.replies = {overflow, test::streamed("hi")};
  auto answer = world.chat();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->attempts, 2U);
  EXPECT_EQ(world.mock.bodies.at(1).at("max_completion_tokens").as_int64(), 3096);
}

TEST(Chat, ABoundOnAnswersIsRemembered) {
  World world;
  world.mock.replies = {
      test::error(400, "max_tokens is too large: 4000. This model supports at most 500 completion tokens."),
      test::streamed("hi")};
  ASSERT_TRUE(world.chat());
  EXPECT_EQ(world.chat()->attempts, 1U);
  EXPECT_EQ(world.mock.bodies.at(1).at("max_completion_tokens").as_int64(), 500);
  EXPECT_EQ(world.mock.bodies.at(2).at("max_completion_tokens").as_int64(), 500);
}

TEST(Chat, AnOverflowThatStaysIsOne) {
  World world;
  world.mock.replies = {test::error(
      400,
      "maximum context length is 4096 tokens. However, you requested 4500 tokens (1000 in the messages")};
  auto answer = world.chat();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, ChatFault::context_overflow);
  EXPECT_EQ(world.mock.requests.size(), 2U);
}

TEST(Chat, APromptThatIsTooLongIsNotAskedAgain) {
  World world;
  world.mock.replies = {test::error(
      400,
      "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.")};
  EXPECT_EQ(world.chat().error().fault, ChatFault::context_overflow);
  EXPECT_EQ(world.mock.requests.size(), 1U);
}

TEST(Chat, AThoughtThatTookAllTokensIsNamed) {
  World world;
  world.mock.replies = {test::events(
      {R"({"choices":[{"delta":{"reasoning":"hm"},"finish_reason":"length"}],"usage":{"completion_tokens":512}})",
       "[DONE]"})};
  auto answer = world.chat();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, ChatFault::empty);
  EXPECT_EQ(answer.error().what, "all 512 tokens went into reasoning");
  EXPECT_EQ(answer.error().partial.reasoning, "hm");
  EXPECT_EQ(world.mock.requests.size(), 1U);
}

TEST(Chat, ARefusalIsNotAskedAgain) {
  World world;
  world.mock.replies = {test::streamed("I cannot", "content_filter")};
  auto answer = world.chat();
  EXPECT_EQ(answer.error().fault, ChatFault::refused);
  EXPECT_EQ(answer.error().partial.content, "I cannot");
  EXPECT_EQ(world.mock.requests.size(), 1U);
}

TEST(Chat, NoMoreThanAllowedAreOnTheirWay) {
  World world;
  world.options.in_flight = 5;
  world.mock.replies = {test::streamed("hi")};
  world.mock.replies[0].before = 5ms;
  for (const auto& answer : world.chats(40)) EXPECT_TRUE(answer);
  EXPECT_EQ(world.mock.most_at_once, 5U);
}

TEST(Chat, TwoHundredAtOnceAreAllAnswered) {
  World world;
  world.options.in_flight = 200;
  world.mock.replies = {test::streamed("hi")};
  world.mock.replies[0].before = 500ms;
  for (const auto& answer : world.chats(200)) {
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->content, "hi");
  }
  EXPECT_EQ(world.mock.most_at_once, 200U);
}

TEST(Chat, OverloadHalvesWhatIsAllowedAndAllAreAnswered) {
  World world;
  world.options.in_flight = 8;
  world.mock.replies = {test::error(429, "slow down"), test::error(503, "busy"), test::streamed("hi")};
  auto answers = world.chats(3);
  for (const auto& answer : answers) EXPECT_TRUE(answer);
  EXPECT_EQ(world.client().allowed(), 4U);
  for (const auto& answer : world.chats(4)) EXPECT_TRUE(answer);
  EXPECT_GE(world.client().allowed(), 5U);
}

}  // namespace
}  // namespace kw::llm
