#include "loop/model_client/answer.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace kw::llm {
namespace {

Result<Said> said(const char* message) {
  return said_in(boost::json::parse(message).as_object());
}

Said split(std::string content, bool ended = true, std::string reasoning = {}) {
  Said both{std::move(content), std::move(reasoning)};
  split_think(both, ended);
  return both;
}

TEST(Reasoning, IsReadFromThreeFields) {
  EXPECT_EQ(said(R"({"content":"c","reasoning":"r"})")->reasoning, "r");
  EXPECT_EQ(said(R"({"content":"c","reasoning_content":"r"})")->reasoning, "r");
  EXPECT_EQ(
      said(R"({"reasoning_details":[{"type":"reasoning.text","text":"a"},{"summary":"b"}]})")->reasoning,
      "ab");
}

TEST(Reasoning, SaidTwiceIsKeptOnce) {
  EXPECT_EQ(
      said(R"({"reasoning":"r","reasoning_content":"r","reasoning_details":[{"text":"r"}]})")->reasoning,
      "r");
}

TEST(Reasoning, AnEmptyFieldDoesNotHideAnother) {
  EXPECT_EQ(said(R"({"reasoning_content":"","reasoning":"r"})")->reasoning, "r");
  EXPECT_EQ(said(R"({"reasoning_content":null,"reasoning":"r"})")->reasoning, "r");
}

TEST(Content, ComesAsTextOrParts) {
  EXPECT_EQ(said(R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]})")->content, "ab");
  EXPECT_EQ(said(R"({"content":null})")->content, "");
  auto both = said(
      R"({"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"c"}]})");
  EXPECT_EQ(both->reasoning, "t");
  EXPECT_EQ(both->content, "c");
}

TEST(Content, OfAnotherTypeIsAnError) {
  EXPECT_FALSE(said(R"({"content":7})"));
  EXPECT_FALSE(said(R"({"content":[7]})"));
}

TEST(Think, AtTheBeginningIsReasoning) {
  Said both = split("\n<think>\nfirst\n</think>\n\nthen");
  EXPECT_EQ(both.reasoning, "first");
  EXPECT_EQ(both.content, "then");
}

TEST(Think, OpenedInThePromptIsReasoningToo) {
  Said both = split("first\n</think>\n\nthen");
  EXPECT_EQ(both.reasoning, "first");
  EXPECT_EQ(both.content, "then");
}

TEST(Think, InTheMiddleIsContent) {
  std::string text = "the tag <think> opens, </think> closes";
  EXPECT_EQ(split(text).content, text);
  EXPECT_EQ(split(text).reasoning, "");
}

TEST(Think, ClosedOnlyInQuotesIsContent) {
  std::string text = "strip `</think>` from it";
  EXPECT_EQ(split(text).content, text);
}

TEST(Think, BesideAFieldOfItsOwnOnlyAnOpenedOneIsSplit) {
  EXPECT_EQ(split("a</think>b", true, "r").content, "a</think>b");
  Said both = split("<think>a</think>b", true, "r");
  EXPECT_EQ(both.reasoning, "r\na");
  EXPECT_EQ(both.content, "b");
}

TEST(Think, CutShortIsAllReasoning) {
  Said both = split("<think>and so", false);
  EXPECT_EQ(both.reasoning, "and so");
  EXPECT_EQ(both.content, "");
}

TEST(Think, NeverClosedByAModelThatEndedIsKeptAsContent) {
  EXPECT_EQ(split("<think>and so").content, "<think>and so");
}

TEST(Think, EmptyThoughtsLeaveTheContent) {
  Said both = split("<think>\n\n</think>\n\nanswer");
  EXPECT_EQ(both.reasoning, "");
  EXPECT_EQ(both.content, "answer");
}

}  // namespace
}  // namespace kw::llm
