#include "dataset/units/row.h"

#include <gtest/gtest.h>

namespace {

using kw::corpus::normalise;
using kw::corpus::row_key;

TEST(Normalise, MakesLineFeedsOfWindowsLines) {
  EXPECT_EQ(normalise("a\r\nb\r\n"), "a\nb");
}

TEST(Normalise, LeavesALoneCarriageReturn) {
  EXPECT_EQ(normalise("a\rb"), "a\rb");
}

TEST(Normalise, StripsBothEnds) {
  EXPECT_EQ(normalise(" \t\n\v\f a \x1c\x1f\n"), "a");
}

TEST(Normalise, MakesOneSpaceOfSpacesAndTabs) {
  EXPECT_EQ(normalise("a \t  b\t\tc"), "a b c");
}

TEST(Normalise, KeepsOneSpaceOfAnIndent) {
  EXPECT_EQ(normalise("def f():\n        return 1"), "def f():\n return 1");
}

TEST(Normalise, MakesTwoNewlinesOfMore) {
  EXPECT_EQ(normalise("a\n\n\n\nb\n\nc\nd"), "a\n\nb\n\nc\nd");
}

TEST(Normalise, SeesNoEmptyLineInOneWithSpaces) {
  EXPECT_EQ(normalise("a\n \n \n \nb"), "a\n \n \n \nb");
}

TEST(Normalise, CountsLinesOfWindowsAsOthers) {
  EXPECT_EQ(normalise("a\r\n\r\n\r\n\r\nb"), "a\n\nb");
}

TEST(Normalise, LeavesOtherWhiteSpaceInside) {
  EXPECT_EQ(normalise("a\vb\fc"), "a\vb\fc");
}

TEST(RowKey, IsTheHashOfBothPartsWithBarsBetween) {
  // sha1("a b|||c")
  EXPECT_EQ(row_key(" a  b\n", "c "), row_key("a b", "c"));
  EXPECT_EQ(row_key("a b", "c"), "4fbefe022331b96947bf5fdff674a9243a3c6649");
}

TEST(RowKey, TellsPromptFromCompletion) {
  EXPECT_NE(row_key("a", "b"), row_key("b", "a"));
}

}  // namespace
