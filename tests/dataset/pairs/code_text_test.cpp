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

TEST(Joined, PiecesHaveOneBlankLineBetweenThem) {
  EXPECT_EQ(joined({"a", "", "b\n", " \n", "c"}), "a\n\nb\n\nc");
}

TEST(Fenced, NoLineOfTheCodeClosesTheFence) {
  EXPECT_EQ(fenced("a\n", "cuda"), "```cuda\na\n```\n");
  EXPECT_EQ(fenced("```\n", "python"), "````python\n```\n````\n");
}

TEST(FitRegion, AllOfItWhereItFits) {
  EXPECT_EQ(fit_region("a\nb\nc\n", {2, 3}, 6), (corpus::Span{0, 6}));
}

TEST(FitRegion, WholeLinesOnBothSides) {
  EXPECT_EQ(fit_region("aa\nbb\ncc\ndd\nee\n", {6, 8}, 9), (corpus::Span{3, 12}));
}

TEST(FitRegion, WhatOneSideLacksTheOtherGets) {
  EXPECT_EQ(fit_region("aa\nbb\ncc\ndd\nee\n", {0, 2}, 9), (corpus::Span{0, 9}));
  EXPECT_EQ(fit_region("aa\nbb\ncc\ndd\nee\n", {12, 15}, 9), (corpus::Span{6, 15}));
}

TEST(FitRegion, NothingWhereTheMiddlesLinesDoNotFit) {
  EXPECT_EQ(fit_region("a long line with a middle\n", {7, 11}, 8), std::nullopt);
  EXPECT_EQ(fit_region("abcdef", {0, 5}, 4), std::nullopt);
}

}  // namespace
}  // namespace kw::pairs
