#include <gtest/gtest.h>

#include "loop/model_client/retry.h"
#include "loop/model_client/server_error.h"

namespace kw::llm {
namespace {

TEST(ServerError, FiveShapesSayTheSame) {
  for (const char* body : {R"({"error":{"message":"no such thing","type":"t","code":"c"}})",
                           R"({"object":"error","message":"no such thing","type":"t","code":400})",
                           R"({"detail":"no such thing"})", R"({"error":"no such thing"})", "no such thing",
                           R"([{"error":{"message":"no such thing"}}])"})
    EXPECT_EQ(read_error(400, body).message, "no such thing") << body;
}

TEST(ServerError, FastApiNamesTheField) {
  auto error =
      read_error(422, R"({"detail":[{"loc":["body","seed"],"msg":"Extra inputs are not permitted"}]})");
  EXPECT_EQ(error.message, "body.seed: Extra inputs are not permitted");
}

TEST(ServerError, OfAPageItsTitleIsShown) {
  EXPECT_EQ(read_error(502, "<html><head><title>502 Bad Gateway</title></head>").message,
            "a web page: 502 Bad Gateway");
}

TEST(ServerError, IsBoundedPlainAndNeverEmpty) {
  EXPECT_LT(read_error(500, std::string(100'000, 'x')).message.size(), 700U);
  EXPECT_EQ(read_error(500, "a\x1b[31m").message, "a\uFFFD[31m");
  EXPECT_EQ(read_error(500, "").message, "no details");
}

struct Words {
  const char* body;
  std::optional<std::uint64_t> context;
  std::optional<std::uint64_t> prompt;
};

TEST(Overflow, IsKnownInTheWordsOfManyServers) {
  const Words words[] = {
      {R"({"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.","code":"context_length_exceeded"}})",
       4096, 4000},
      {R"({"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 4000 input tokens (5000 > 4096 - 4000).","code":400}})",
       4096, 4000},
      {R"({"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens and your prompt contains at least 4000 input tokens, for a total of at least 5000 tokens."}})",
       4096, 4000},
      {R"({"error":{"message":"The decoder prompt (length 4000) is longer than the maximum model length of 4096."}})",
       4096, 4000},
      {R"({"object":"error","message":"Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: 4000 tokens from the input messages and 1000 tokens for the completion."})",
       4096, 4000},
      {R"({"object":"error","message":"The input (4000 tokens) is longer than the model's context length (4096 tokens)."})",
       4096, 4000},
      {R"({"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":4000,"n_ctx":4096}})",
       4096, 4000},
      {R"({"error":{"message":"request (4,000 tokens) exceeds the available context size (4,096 tokens), try increasing it"}})",
       4096, 4000},
      {R"({"error":{"message":"prompt is too long: 4000 tokens > 4096 maximum"}})", 4096, 4000},
      {R"({"error":{"message":"oh no","code":"context_length_exceeded"}})", {}, {}},
  };
  for (const Words& one : words) {
    auto overflow = overflow_in(read_error(400, one.body));
    ASSERT_TRUE(overflow) << one.body;
    EXPECT_EQ(overflow->context, one.context) << one.body;
    EXPECT_EQ(overflow->prompt, one.prompt) << one.body;
  }
}

TEST(Overflow, OtherErrorsAreNone) {
  for (const char* text :
       {"model not found", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "temperature is too large", "invalid JSON"})
    EXPECT_FALSE(overflow_in(read_error(400, text))) << text;
  EXPECT_FALSE(
      overflow_in(read_error(429, "too many tokens per minute: the context length exceeds your tier")));
}

TEST(Overflow, WhatIsLeftIsAskedFor) {
  EXPECT_EQ(shrunk({.context = 4096, .prompt = 3000, .answer = {}}, 2000), 1096U);
  EXPECT_EQ(shrunk({.context = {}, .prompt = {}, .answer = 500}, 2000), 500U);
  EXPECT_EQ(shrunk({.context = {}, .prompt = {}, .answer = {}}, 2000), 1000U);
}

TEST(Overflow, TooLittleLeftIsNothing) {
  EXPECT_FALSE(shrunk({.context = 4096, .prompt = 4090, .answer = {}}, 2000));
  EXPECT_FALSE(shrunk({.context = 4096, .prompt = 9000, .answer = {}}, 2000));
  EXPECT_FALSE(shrunk({.context = {}, .prompt = {}, .answer = {}}, std::nullopt));
}

TEST(Overflow, NumbersByWhichItShouldHaveFittedAreNotBelieved) {
  EXPECT_EQ(shrunk({.context = 4096, .prompt = 1000, .answer = {}}, 2000), 1000U);
}

RequestFailure at(int status) {
  return trouble_of(read_error(status, "words"));
}

TEST(RequestFailure, OfEachStatus) {
  EXPECT_EQ(at(401).fault, ChatFault::unauthorised);
  EXPECT_EQ(at(403).fault, ChatFault::unauthorised);
  EXPECT_EQ(at(408).fault, ChatFault::timeout);
  EXPECT_EQ(at(429).fault, ChatFault::overloaded);
  EXPECT_EQ(at(503).fault, ChatFault::overloaded);
  EXPECT_EQ(at(500).fault, ChatFault::server_error);
  EXPECT_EQ(at(409).fault, ChatFault::server_error);
  for (int status : {400, 404, 405, 413, 418, 422}) {
    EXPECT_EQ(at(status).fault, ChatFault::bad_request) << status;
    EXPECT_EQ(at(status).retry, Retry::never) << status;
  }
  for (int status : {408, 409, 429, 500, 502, 503, 504}) EXPECT_EQ(at(status).retry, Retry::often) << status;
}

TEST(RequestFailure, AnEmptyAccountIsNoOverload) {
  auto error =
      read_error(429, R"({"error":{"message":"you exceeded your quota","code":"insufficient_quota"}})");
  EXPECT_EQ(trouble_of(error).retry, Retry::never);
}

ChatAnswer answer(const std::string& content, const std::string& finish, const std::string& reasoning = "") {
  ChatAnswer one;
  one.content = content;
  one.finish_reason = finish;
  one.reasoning = reasoning;
  one.usage.completion_tokens = 512;
  return one;
}

TEST(ServerError, SaysThatThereAreNoCompletions) {
  EXPECT_TRUE(lacks_completions(read_error(404, R"({"detail":"Not Found"})")));
  EXPECT_TRUE(lacks_completions(read_error(
      404,
      R"({"error":{"message":"This is a chat model and not supported in the v1/completions endpoint."}})")));
  EXPECT_TRUE(
      lacks_completions(read_error(400, R"({"message":"The model does not support Completions API"})")));
  EXPECT_FALSE(lacks_completions(read_error(400, "max_tokens is too large")));
  EXPECT_FALSE(lacks_completions(read_error(500, "out of memory")));
}

TEST(RequestFailure, InAnswers) {
  EXPECT_FALSE(trouble_in(answer("code", "stop")));
  EXPECT_FALSE(trouble_in(answer("code", "length", "thought")));
  EXPECT_EQ(trouble_in(answer("", "stop"))->fault, ChatFault::empty);
  EXPECT_EQ(trouble_in(answer("no", "content_filter"))->fault, ChatFault::refused);
  EXPECT_EQ(trouble_in(answer("", "abort"))->fault, ChatFault::server_error);
  EXPECT_EQ(trouble_in(answer("", "length", "thought"))->what, "all 512 tokens went into reasoning");
}

}  // namespace
}  // namespace kw::llm
