#include "dataset/labels/answers.h"

#include <gtest/gtest.h>

namespace kw::labels {
namespace {

using corpus::CompileLabel;

const std::vector<std::string> targets{"sm_80", "sm_90"};

std::optional<Answer> read(std::string_view text) {
  return read_answer(text, targets);
}

TEST(Answers, ACompilableKernelSaysForWhat) {
  auto answer = read(R"({"compile":"compilable","reason":"","compiled_for":["sm_90","sm_80"]})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->label, CompileLabel::compilable);
  EXPECT_EQ(answer->compiled_for, targets);
}

TEST(Answers, UnknownLabelsAreRefused) {
  EXPECT_FALSE(read(R"({"compile":"perfect","reason":"","compiled_for":["sm_90"]})"));
}

TEST(Answers, TargetsNobodyAskedForAreRefused) {
  EXPECT_FALSE(read(R"({"compile":"compilable","reason":"","compiled_for":["sm_100"]})"));
}

TEST(Answers, ATargetTwiceIsRefused) {
  EXPECT_FALSE(read(R"({"compile":"compilable","reason":"","compiled_for":["sm_90","sm_90"]})"));
}

TEST(Answers, CompilableForNothingIsRefused) {
  EXPECT_FALSE(read(R"({"compile":"compilable","reason":"","compiled_for":[]})"));
}

TEST(Answers, FailingForATargetIsRefused) {
  EXPECT_FALSE(read(R"({"compile":"fails","reason":"x","compiled_for":["sm_80"]})"));
}

TEST(Answers, TwoAnswersAreNone) {
  std::string one = R"({"compile":"fails","reason":"x","compiled_for":[]})";
  EXPECT_TRUE(read(one));
  EXPECT_FALSE(read(one + one));
  EXPECT_FALSE(read(one + "\n" + one));
}

TEST(Answers, NoJsonIsNoAnswer) {
  for (std::string_view text : {"", "{", "[]", "null", "\xff", "{\"compile\":1}", "[[[[[[[["})
    EXPECT_FALSE(read(text));
  EXPECT_FALSE(read(std::string(60'000, '[')));
}

TEST(Answers, AReasonIsOnePlainLine) {
  auto answer = read("{\"compile\":\"fails\",\"reason\":\"a\\nb\\u001b[31m" + std::string(2'000, 'x') +
                     "\",\"compiled_for\":[]}");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->reason.find_first_of("\n\x1b"), std::string::npos);
  EXPECT_LT(answer->reason.size(), 400U);
}

TEST(Answers, HowTheChildEndedIsTheReason) {
  Answer answer =
      answer_of({0, "time limit", R"({"compile":"fails","reason":"","compiled_for":[]})"}, targets);
  EXPECT_EQ(answer.label, CompileLabel::not_tried);
  EXPECT_EQ(answer.reason, "time limit");
}

TEST(Answers, AForgedAnswerIsNotTried) {
  EXPECT_EQ(answer_of({0, "answered", "compilable"}, targets).label, CompileLabel::not_tried);
}

TEST(Answers, AReplyNeedsItsNumber) {
  EXPECT_TRUE(read_reply(R"({"number":3,"how":"answered","answer":""})"));
  EXPECT_FALSE(read_reply(R"({"number":-1,"how":"answered","answer":""})"));
  EXPECT_FALSE(read_reply(R"({"how":"answered","answer":""})"));
}

TEST(Answers, TheKeyDependsOnAllThatMatters) {
  corpus::Unit unit;
  unit.text = "def k(): pass";
  CompileOptions options;
  std::string key = job_key(job_line(unit), options, "3.6.0");
  EXPECT_EQ(key, job_key(job_line(unit), options, "3.6.0"));
  EXPECT_NE(key, job_key(job_line(unit), options, "3.7.0"));
  options.targets = {90};
  EXPECT_NE(key, job_key(job_line(unit), options, "3.6.0"));
  unit.launches.emplace_back();
  EXPECT_NE(job_key(job_line(unit), options, "3.6.0"), job_key(job_line({}), options, "3.6.0"));
}

TEST(Answers, AJobIsOneLine) {
  corpus::Unit unit;
  unit.text = "def k():\n    pass\xff\n";
  EXPECT_EQ(job_line(unit).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace kw::labels
