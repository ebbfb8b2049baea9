#include "score/report/holes.h"

#include <gmock/gmock.h>

#include <boost/json/object.hpp>

#include "score/report/ask_rows.h"

namespace kw::scoring {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string prefix =
    "import triton\nimport triton.language as tl\n\n@triton.jit\ndef copy(x_ptr, y_ptr, n: tl.constexpr):\n";
const std::string body = "    i = tl.arange(0, n)\n    tl.store(y_ptr + i, tl.load(x_ptr + i))";
const std::string suffix = "\n\n\ndef host(x, y):\n    copy[(1,)](x, y, 16)\n";

boost::json::object row(const std::string& answer, const std::string& path = "a.py") {
  return {{"prompt", "<|fim_suffix|>" + suffix + "<|fim_prefix|>" + prefix + "<|fim_middle|>"},
          {"completion", body},
          {"output", answer},
          {"kind", "fim"},
          {"source", {{"path", path}}}};
}

Output output_of(const boost::json::object& fields) {
  auto output = row_output(fields, 1, "", ReadOptions());
  EXPECT_TRUE(output) << output.error().what;
  return std::move(*output);
}

bool is_good(const std::string& answer) {
  auto facts = check_hole(output_of(row(answer)));
  return facts && facts->is_good;
}

TEST(Hole, IsBetweenPrefixAndSuffixInEitherOrder) {
  boost::json::object other = row(body);
  other["prompt"] = "<|fim_prefix|>" + prefix + "<|fim_suffix|>" + suffix + "<|fim_middle|>";
  for (const boost::json::object& one : {row(body), other}) {
    Output output = output_of(one);
    ASSERT_TRUE(output.hole);
    EXPECT_EQ(output.hole->prefix, prefix);
    EXPECT_EQ(output.hole->suffix, suffix);
    EXPECT_FALSE(output.hole->is_plain);
  }
}

TEST(Hole, OfABodyRowIsTheEndOfItsPrompt) {
  Output output = output_of({{"prompt", prefix}, {"completion", body}, {"output", body}, {"kind", "fim"}});
  ASSERT_TRUE(output.hole);
  EXPECT_TRUE(output.hole->is_plain);
  EXPECT_TRUE(check_hole(output)->is_good);
}

// As those of X_sft.csv.
TEST(Hole, OfABodyRowWithoutAKindIsFoundByItsSignature) {
  Output output = output_of({{"prompt", prefix}, {"completion", body}, {"output", body}});
  ASSERT_TRUE(output.hole);
  EXPECT_TRUE(output.hole->is_plain);
  EXPECT_TRUE(check_hole(output)->is_good);
}

TEST(Hole, IsNotInOtherRows) {
  EXPECT_FALSE(output_of({{"prompt", "Write a kernel."}, {"output", body}}).hole);
  EXPECT_FALSE(
      output_of({{"prompt", "Write @triton.jit kernels for this function:"}, {"output", body}}).hole);
  EXPECT_FALSE(output_of({{"prompt", prefix + body}, {"output", body}}).hole);
  const std::string host = prefix + body + "\n\ndef host(x):\n";
  EXPECT_FALSE(output_of({{"prompt", host}, {"output", body}}).hole);
  EXPECT_FALSE(output_of({{"prompt", prefix}, {"output", body}, {"kind", "cu2triton"}}).hole);
}

TEST(Hole, IsNotInARequestToWriteAKernel) {
  const boost::json::object how = {{"node", "body"}, {"rendering", "instruction"}};
  EXPECT_FALSE(output_of({{"prompt", "Write it."}, {"output", body}, {"kind", "fim"}, {"hole", how}}).hole);
  EXPECT_FALSE(
      output_of(
          {{"prompt", "Write it."}, {"output", body}, {"kind", "fim"}, {"hole_rendering", "instruction"}})
          .hole);
}

TEST(FilledHole, WithItsReferenceIsGood) {
  EXPECT_TRUE(is_good(body));
}

TEST(FilledHole, WithoutAStoreOfItsReferenceIsNotGood) {
  EXPECT_FALSE(is_good("    i = tl.load(x_ptr)"));
  EXPECT_FALSE(is_good("    pass"));
}

TEST(FilledHole, ThatDoesNotParseIsNotGood) {
  EXPECT_FALSE(is_good("    ("));
}

TEST(FilledHole, WithANameThatNothingDefinesIsNotGood) {
  std::string answer = body;
  answer.replace(answer.find("x_ptr"), 5, "z_ptr");
  auto facts = check_hole(output_of(row(answer)));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->undefined_names, 1U);
  EXPECT_FALSE(facts->is_good);
  auto kernels = kernels_with_hole(output_of(row(answer)));
  ASSERT_TRUE(kernels);
  EXPECT_THAT(kernels->why_not, HasSubstr("z_ptr"));
}

score::CheckState state_of(const std::string& answer) {
  auto facts = check_hole(output_of(row(answer)));
  return facts && facts->state ? *facts->state : score::CheckState::fail;
}

TEST(FilledHole, PassesWithItsReferenceAndMayLeaveNoMoreOpen) {
  EXPECT_EQ(state_of(body), score::CheckState::pass);
  EXPECT_EQ(
      state_of("    i = tl.arange(0, n)\n    tl.store(y_ptr + i, tl.load(x_ptr + i) + tl.load(x_ptr + i))"),
      score::CheckState::unproven);
  EXPECT_EQ(state_of("    pass"), score::CheckState::fail);
}

TEST(FilledHole, OfADeviceFunctionNeedsNoStore) {
  boost::json::object device{{"prompt",
                              "<|fim_prefix|>import triton\n\n@triton.jit\ndef relu(x):\n    return "
                              "<|fim_suffix|>\n<|fim_middle|>"},
                             {"completion", "x * (x > 0)"},
                             {"output", "x * (x >= 0)"}};
  EXPECT_TRUE(check_hole(output_of(device))->is_good);
}

TEST(FilledHole, OfCudaGetsNoStaticChecks) {
  EXPECT_FALSE(check_hole(output_of(row(body, "a.cu"))));
}

TEST(FilledHole, WhoseReferenceDoesNotParseGetsNoStaticChecks) {
  boost::json::object cut = row(body);
  cut["completion"] = "    (";
  EXPECT_FALSE(check_hole(output_of(cut)));
}

TEST(HoleText, EndsAtASpecialToken) {
  EXPECT_EQ(hole_text("a + b<|fim_pad|>rest<|endoftext|>", "x"), "a + b");
}

TEST(HoleText, IsTheFenceThatTheReferenceLacks) {
  EXPECT_EQ(hole_text("Here:\n```python\n    a\n    b\n```\nDone.", "x"), "    a\n    b");
  EXPECT_EQ(hole_text("```\na\n```\n", "```\nb\n```\n"), "```\na\n```\n");
  EXPECT_EQ(hole_text("  a\n", "x"), "  a\n");
}

TEST(HoleQuestion, IsThePromptAsItWasTrained) {
  boost::json::object fields = row(body);
  auto question = question_of({1, fields}, ReadOptions());
  ASSERT_TRUE(question && question->continuation);
  EXPECT_EQ(question->continuation->prompt, fields.at("prompt").as_string());
  EXPECT_THAT(question->continuation->stop, testing::Contains("<|fim_pad|>"));
}

TEST(HoleQuestion, ToAChatModelHasNoSpecialTokens) {
  auto question = question_of({1, row(body)}, ReadOptions());
  ASSERT_TRUE(question);
  EXPECT_THAT(question->messages.front().content, HasSubstr(prefix + "<HOLE>" + suffix));
  EXPECT_THAT(question->messages.front().content, Not(HasSubstr("<|fim_")));
}

TEST(HoleQuestion, IsOfFillInRowsAlone) {
  auto question = question_of({1, {{"prompt", "Write a kernel."}, {"completion", "x"}}}, ReadOptions());
  ASSERT_TRUE(question);
  EXPECT_FALSE(question->continuation);
  EXPECT_EQ(question->messages.front().content, "Write a kernel.");
}

}  // namespace
}  // namespace kw::scoring
