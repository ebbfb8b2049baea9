#include "dataset/pairs/code_text.h"

#include <gmock/gmock.h>

namespace kw::pairs {
namespace {

using harvest::Language;

TEST(SpecialTokens, AreSeenInAnyText) {
  EXPECT_TRUE(holds_special_token("a <|im_end|> b"));
  EXPECT_TRUE(holds_special_token("<|<|file_sep|>"));
}

TEST(SpecialTokens, OperatorsAreNone) {
  EXPECT_FALSE(holds_special_token("a <|b| > c"));
  EXPECT_FALSE(holds_special_token("<||>"));
  EXPECT_FALSE(holds_special_token("<|"));
}

TEST(HoldsCode, StringsAndCommentsAreNone) {
  EXPECT_FALSE(holds_code("\"\"\"a\nb \\\"\"\" c\"\"\"  # d", Language::python));
  EXPECT_FALSE(holds_code("rb'x'\n", Language::python));
  EXPECT_FALSE(holds_code("/* a\nb */ // c\n{ ; }", Language::cuda));
}

TEST(HoldsCode, AWordIsCode) {
  EXPECT_TRUE(holds_code("# a\nx", Language::python));
  EXPECT_TRUE(holds_code("/* a */ return;", Language::cuda));
  EXPECT_TRUE(holds_code("1'000'000", Language::cuda));
}

TEST(HoldsCode, AnUnfinishedStringEndsWithTheText) {
  EXPECT_FALSE(holds_code("\"\"\"never closed", Language::python));
  EXPECT_FALSE(holds_code("'\\", Language::python));
}

TEST(WithoutProse, DocstringsAndCommentsAreProse) {
  EXPECT_EQ(without_prose("  r\"\"\"a\nb\"\"\"\n  x = 1  # c\n", Language::python), "\n  x = 1  \n");
}

TEST(WithoutProse, AStringThatIsAnArgumentIsCode) {
  constexpr std::string_view call = "f(\n  \"\"\"\n  add.u32\n  \"\"\"\n)\nx = 'a'\n";
  EXPECT_EQ(without_prose(call, Language::python), call);
}

TEST(Joined, PiecesHaveOneBlankLineBetweenThem) {
  EXPECT_EQ(joined({"a", "", "b\n", " \n", "c"}), "a\n\nb\n\nc");
}

TEST(Fenced, NoLineOfTheCodeClosesTheFence) {
  EXPECT_EQ(fenced("a\n", "cuda"), "```cuda\na\n```\n");
  EXPECT_EQ(fenced("```\n", "python"), "````python\n```\n````\n");
}

}  // namespace
}  // namespace kw::pairs
