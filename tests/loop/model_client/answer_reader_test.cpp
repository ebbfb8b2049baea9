#include "loop/model_client/answer_reader.h"

#include <gtest/gtest.h>

#include "base/core/text.h"

namespace kw::llm {
namespace {

constexpr std::size_t bound = 100'000;

std::expected<ChatAnswer, Flawed> read(const std::vector<std::string>& pieces, std::size_t most = bound) {
  AnswerReader reader(most);
  for (const std::string& piece : pieces)
    if (!reader.take(piece)) break;
  return reader.finish();
}

std::string stream(const std::vector<std::string>& data) {
  std::string text;
  for (const std::string& one : data) text += "data: " + one + "\r\n\r\n";
  return text;
}

const std::string role =
    R"({"model":"big","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})";
const std::string thought = R"({"choices":[{"delta":{"reasoning_content":"hm \u00e4"}}]})";
const std::string one = R"({"choices":[{"delta":{"content":"<triton>"}}]})";
const std::string two = "{\"choices\":[{\"delta\":{\"content\":\"\u00e4\U0001F600</triton>\"}}]}";
const std::string stop = R"({"choices":[{"delta":{},"finish_reason":"stop"}]})";
const std::string usage =
    R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":3}}})";

TEST(AnswerReader, AStreamIsPutTogether) {
  auto answer = read({stream({role, thought, one, two, stop, usage, "[DONE]"})});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "<triton>\u00e4\U0001F600</triton>");
  EXPECT_EQ(answer->reasoning, "hm \u00e4");
  EXPECT_EQ(answer->model, "big");
  EXPECT_EQ(answer->finish_reason, "stop");
  EXPECT_EQ(answer->usage.prompt_tokens, 5);
  EXPECT_EQ(answer->usage.completion_tokens, 9);
  EXPECT_EQ(answer->usage.reasoning_tokens, 3);
}

TEST(AnswerReader, ATextThatContinuesAPromptIsRead) {
  auto streamed = read({stream({R"({"choices":[{"text":"    a"}]})",
                                R"({"choices":[{"text":" = 1","finish_reason":"stop"}]})", "[DONE]"})});
  ASSERT_TRUE(streamed);
  EXPECT_EQ(streamed->content, "    a = 1");
  auto whole = read({R"({"choices":[{"text":"    a = 1\n","finish_reason":"length"}]})"});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->content, "    a = 1\n");
}

TEST(AnswerReader, ACutAnywhereChangesNothing) {
  std::string text = ": hello\n\n" + stream({role, thought, one, two, stop, usage, "[DONE]"});
  auto whole = read({text});
  ASSERT_TRUE(whole);
  for (std::size_t i = 0; i <= text.size(); ++i) {
    auto answer = read({text.substr(0, i), text.substr(i)});
    ASSERT_TRUE(answer) << i;
    ASSERT_EQ(answer->content, whole->content) << i;
    ASSERT_EQ(answer->reasoning, whole->reasoning) << i;
    ASSERT_EQ(answer->usage.completion_tokens, whole->usage.completion_tokens) << i;
  }
}

TEST(AnswerReader, AStreamThatEndsTooSoonIsCut) {
  std::string text = stream({role, one, two, stop});
  std::size_t ends = text.find(R"("finish_reason")");
  for (std::size_t i = stream({role}).size(); i < ends; ++i) {
    auto answer = read({text.substr(0, i)});
    ASSERT_FALSE(answer) << i;
    ASSERT_TRUE(answer.error().flaw == Flaw::cut || answer.error().flaw == Flaw::malformed) << i;
  }
}

TEST(AnswerReader, AFinishReasonEndsAStreamWithoutDone) {
  EXPECT_TRUE(read({stream({one, stop})}));
  EXPECT_FALSE(read({stream({one})}));
  EXPECT_TRUE(read({stream({one, "[DONE]"})}));
}

TEST(AnswerReader, APlainAnswerIsReadWhereAStreamWasExpected) {
  auto answer = read({" {\"model\":\"m\",\"choices\":[{\"message\":",
                      R"({"content":"c","reasoning":"r"},"finish_reason":"stop"}])",
                      R"(,"usage":{"prompt_tokens":1,"completion_tokens":2}})"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "c");
  EXPECT_EQ(answer->reasoning, "r");
  EXPECT_EQ(answer->usage.completion_tokens, 2);
}

TEST(AnswerReader, ACharacterCutBetweenTwoChunksIsWhole) {
  auto answer = read({stream({"{\"choices\":[{\"delta\":{\"content\":\"a\xC3\"}}]}",
                              "{\"choices\":[{\"delta\":{\"content\":\"\xA4"
                              "b\"}}]}",
                              stop})});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "a\u00e4b");
}

TEST(AnswerReader, BytesThatAreNotUtf8AreReplaced) {
  auto answer = read({stream({"{\"choices\":[{\"delta\":{\"content\":\"a\xFF\xC3(\"}}]}", stop})});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "a\uFFFD\uFFFD(");
}

TEST(AnswerReader, HalfASurrogatePairIsReplacedAndAWholeOneKept) {
  auto answer =
      read({stream({R"({"choices":[{"delta":{"content":"a\ud83d b\ude00 \ud83d\ude00 \\ud83d"}}]})", stop})});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "a\uFFFD b\uFFFD \U0001F600 \\ud83d");
}

TEST(AnswerReader, WrongTypesAreMalformed) {
  for (const char* body :
       {R"({"choices":7})", R"({"choices":[7]})", R"({"choices":[{"delta":7}]})",
        R"({"choices":[{"delta":{"content":7}}]})", "[1]", "7", "null", "{\"choices\":["}) {
    auto answer = read({stream({body})});
    ASSERT_FALSE(answer) << body;
    EXPECT_EQ(answer.error().flaw, Flaw::malformed) << body;
  }
  for (const char* body : {R"({"choices":7})", R"({"choices":[]})", "{}", R"({"choices":[{"message":[]}]})",
                           "[]", R"({"choices":[{"message":{"content":"a"}}],)"}) {
    auto answer = read({body});
    ASSERT_FALSE(answer) << body;
    EXPECT_EQ(answer.error().flaw, Flaw::malformed) << body;
  }
}

TEST(AnswerReader, OddButHarmlessFieldsAreLetPass) {
  auto answer =
      read({stream({R"({"usage":null,"choices":[{"delta":null}]})", R"({"usage":"x","choices":null})",
                    R"({"choices":[{"delta":{"content":null,"reasoning":null}}]})", one, stop})});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->content, "<triton>");
}

TEST(AnswerReader, AnErrorInAStreamIsTheServers) {
  for (const char* text :
       {"data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n",
        "event: error\ndata: {\"message\":\"out of memory\"}\n\n", "event: error\ndata: out of memory\n\n",
        "data: {\"object\":\"error\",\"message\":\"out of memory\",\"code\":500}\n\n",
        "data: {\"error\": \"say \"out of memory\" again\"}\n\n"}) {
    auto answer = read({stream({role, one}), text});
    ASSERT_FALSE(answer) << text;
    EXPECT_EQ(answer.error().flaw, Flaw::error) << text;
    EXPECT_NE(answer.error().error.message.find("out of memory"), std::string::npos) << text;
    EXPECT_EQ(answer.error().error.status, 500) << text;
  }
}

TEST(AnswerReader, TooMuchIsRefusedWhileItComes) {
  AnswerReader reader(1000);
  std::size_t taken = 0;
  while (taken < 100 &&
         reader.take(stream({"{\"choices\":[{\"delta\":{\"content\":\"" + std::string(100, 'x') + "\"}}]}"})))
    ++taken;
  EXPECT_EQ(taken, 10U);
  EXPECT_EQ(reader.finish().error().flaw, Flaw::too_large);
}

TEST(AnswerReader, TooMuchInOnePieceIsRefusedToo) {
  EXPECT_EQ(read({"data: " + std::string(bound * 4, 'x')}, bound).error().flaw, Flaw::too_large);
  EXPECT_EQ(read({"{\"a\":\"" + std::string(bound * 4, 'x')}, bound).error().flaw, Flaw::too_large);
}

TEST(AnswerReader, SomethingElseIsMalformed) {
  EXPECT_EQ(read({"<html>hello"}).error().flaw, Flaw::malformed);
  EXPECT_EQ(read({"Internal Server Error"}).error().flaw, Flaw::malformed);
  EXPECT_EQ(read({""}).error().flaw, Flaw::cut);
}

TEST(AnswerReader, ARefusalIsKnown) {
  auto answer = read({stream({R"({"choices":[{"delta":{"refusal":"I can"}}]})",
                              R"({"choices":[{"delta":{"refusal":"not"}}]})", stop})});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->finish_reason, "content_filter");
  EXPECT_EQ(answer->content, "I cannot");
}

// Random changes of bytes: never a crash, and the text read is always UTF-8.
TEST(AnswerReader, SurvivesAnyBytes) {
  std::string text = stream({role, thought, one, two, stop, usage, "[DONE]"});
  std::uint64_t state = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string bad = text;
    for (int i = 0; i < 3; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      bad[(state >> 33) % bad.size()] = static_cast<char>(state >> 24);
    }
    auto answer = read({bad});
    if (answer) {
      ASSERT_TRUE(is_utf8(answer->content));
      ASSERT_TRUE(is_utf8(answer->model));
    }
  }
}

}  // namespace
}  // namespace kw::llm
