#include "loop/model_client/request.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

namespace kw::llm {
namespace {

using Limit = Dialect::Limit;

boost::json::object body(const ChatRequest& request, const Dialect& dialect = {},
                         std::optional<std::uint64_t> tokens = {}) {
  ModelInfo model{.name = "m", .max_model_len = {}, .server = ""};
  return boost::json::parse(request_body(model, request, dialect, tokens, true)).as_object();
}

ServerError rejected(const char* message, int status = 400) {
  return read_error(status, message);
}

TEST(Request, WhatIsNotSetIsNotSent) {
  auto sent = body({});
  EXPECT_EQ(sent.size(), 4U);  // model, messages, stream, stream_options
  EXPECT_TRUE(sent.at("stream_options").at("include_usage").as_bool());
}

TEST(Request, WhatIsSetIsSent) {
  ChatRequest request;
  request.sampling = {.temperature = 0.5,
                      .top_p = 0.9,
                      .seed = 1,
                      .max_tokens = {},
                      .reasoning_effort = "low",
                      .chat_template_kwargs = {{"enable_thinking", false}}};
  auto sent = body(request, {}, 77);
  EXPECT_EQ(sent.at("temperature").as_double(), 0.5);
  EXPECT_EQ(sent.at("top_p").as_double(), 0.9);
  EXPECT_EQ(sent.at("max_completion_tokens").as_int64(), 77);
  EXPECT_EQ(sent.at("reasoning_effort").as_string(), "low");
  EXPECT_FALSE(sent.at("chat_template_kwargs").at("enable_thinking").as_bool());
  EXPECT_TRUE(sent.contains("seed"));
}

TEST(Request, AContinuationIsSentInPlaceOfMessages) {
  ChatRequest request;
  request.messages = {{"user", "?"}};
  request.sampling.chat_template_kwargs = {{"enable_thinking", false}};
  request.continuation = Continuation{"def f(", {"\ndef "}};
  auto sent = body(request, {}, 77);
  EXPECT_EQ(sent.at("prompt").as_string(), "def f(");
  EXPECT_EQ(sent.at("stop").as_array().size(), 1U);
  EXPECT_EQ(sent.at("max_tokens").as_int64(), 77);
  for (const char* of_chats :
       {"messages", "max_completion_tokens", "chat_template_kwargs", "skip_special_tokens"})
    EXPECT_FALSE(sent.contains(of_chats)) << of_chats;
}

TEST(Request, ServersThatHideSpecialTokensAreToldToKeepThem) {
  ChatRequest request;
  request.continuation = Continuation{"def f(", {"<|fim_pad|>"}};
  ModelInfo model{.name = "m", .max_model_len = {}, .server = "vllm"};
  auto sent = boost::json::parse(request_body(model, request, {}, 1, true)).as_object();
  EXPECT_FALSE(sent.at("skip_special_tokens").as_bool());
}

TEST(Request, InvalidBytesOfAMessageAreReplaced) {
  ChatRequest request;
  request.messages = {{"user", "a\xFF"}};
  EXPECT_EQ(body(request).at("messages").as_array()[0].at("content").as_string(), "a\uFFFD");
}

TEST(Request, SeedsDifferByIdAndStayTheSame) {
  EXPECT_NE(seed_of(1, "t/0/0/1"), seed_of(1, "t/1/0/1"));
  EXPECT_NE(seed_of(1, "t/0/0/1"), seed_of(2, "t/0/0/1"));
  EXPECT_EQ(seed_of(7, "t/0/0/1"), seed_of(7, "t/0/0/1"));
  for (std::int64_t run : {std::int64_t{0}, std::int64_t{-5}, INT64_MAX}) {
    EXPECT_GE(seed_of(run, "x"), 0);
    EXPECT_LE(seed_of(run, "x"), INT32_MAX);
  }
}

TEST(Request, IdsBecomeHeaders) {
  EXPECT_EQ(request_id_header("kernelbench/?/9/0/0/1", 1), "kernelbench/?/9/0/0/1");
  EXPECT_EQ(request_id_header("a b\r\nX: \xC3\xA4/1", 2), "a_b__X:___/1~2");
  std::string value = request_id_header(std::string(1000, 'x') + "/0/1/2", 1);
  EXPECT_EQ(value.size(), 200U);
  EXPECT_TRUE(value.ends_with("/0/1/2"));
}

TEST(Dialect, FollowsTheServer) {
  EXPECT_EQ(dialect_of("vllm").limit, Limit::max_completion_tokens);
  EXPECT_EQ(dialect_of("").limit, Limit::max_completion_tokens);
  EXPECT_EQ(dialect_of("llama.cpp").limit, Limit::max_tokens);
  EXPECT_EQ(dialect_of("sglang").limit, Limit::max_tokens);
  EXPECT_FALSE(dialect_of("transformers").stream_options);
}

TEST(Dialect, LearnsEveryFieldThatAnErrorNames) {
  Dialect dialect;
  auto error = rejected(
      R"({"detail":"Unsupported fields in the request: {'stream_options', 'max_completion_tokens', 'seed'}"})",
      422);
  EXPECT_TRUE(adapt(dialect, dialect, error));
  EXPECT_FALSE(dialect.stream_options);
  EXPECT_FALSE(dialect.seed);
  EXPECT_EQ(dialect.limit, Limit::max_tokens);
}

TEST(Dialect, TriesBothNamesOfTheLimitThenNone) {
  Dialect dialect;
  EXPECT_TRUE(adapt(dialect, Dialect(dialect), rejected("unknown field max_completion_tokens")));
  EXPECT_EQ(dialect.limit, Limit::max_tokens);
  EXPECT_TRUE(adapt(dialect, Dialect(dialect), rejected("unknown field max_tokens")));
  EXPECT_EQ(dialect.limit, Limit::none);
  EXPECT_FALSE(adapt(dialect, Dialect(dialect), rejected("unknown field max_tokens")));
}

TEST(Dialect, AnErrorThatManyRequestsGetAtOnceIsLearnedOnce) {
  Dialect dialect;
  Dialect sent = dialect;
  auto error = rejected("Unsupported parameter: 'max_completion_tokens'");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(adapt(dialect, sent, error));
  EXPECT_EQ(dialect.limit, Limit::max_tokens);
}

TEST(Dialect, OtherErrorsTeachNothing) {
  Dialect dialect;
  EXPECT_FALSE(adapt(dialect, dialect, rejected("unknown field temperature")));
  EXPECT_FALSE(adapt(dialect, dialect, rejected("the seeds are unknown")));
  EXPECT_FALSE(adapt(dialect, dialect, rejected("unknown field seed", 500)));
}

std::vector<Message> prompt(std::size_t bytes) {
  return {{"user", std::string(bytes, 'x')}};
}

TEST(Tokens, AreOverestimatedAtFirst) {
  EXPECT_GT(TokenEstimate().of(prompt(3000)), 1000U);
}

TEST(Tokens, FollowTheServersCounts) {
  TokenEstimate estimate;
  estimate.learn(prompt(4000), 1000);
  EXPECT_NEAR(static_cast<double>(estimate.of(prompt(8000))), 2000, 150);
  estimate.learn(prompt(4000), 2000);
  EXPECT_GT(estimate.of(prompt(8000)), 4000U);
}

TEST(Tokens, AnAnswerGetsWhatTheContextLeaves) {
  ModelInfo model{.name = "m", .max_model_len = 10'000, .server = ""};
  EXPECT_EQ(answer_tokens(model, {}, 4000), 6000U);
  Sampling sampling;
  sampling.max_tokens = 500;
  EXPECT_EQ(answer_tokens(model, sampling, 4000), 500U);
  EXPECT_EQ(answer_tokens(model, sampling, 9700), 500U);
  EXPECT_EQ(answer_tokens(model, {}, 20'000), 1024U);  // an estimate alone is no reason to give up
}

TEST(Tokens, WithoutAContextNothingIsAskedFor) {
  EXPECT_EQ(answer_tokens({}, {}, 4000), std::nullopt);
  Sampling sampling;
  sampling.max_tokens = 500;
  EXPECT_EQ(answer_tokens({}, sampling, 4000), 500U);
}

}  // namespace
}  // namespace kw::llm
