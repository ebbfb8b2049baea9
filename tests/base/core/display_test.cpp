#include "base/core/display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw {
namespace {

using testing::ElementsAre;

TEST(Visible, WhatHasNoGlyphIsNamed) {
  EXPECT_EQ(visible("a\u202eb\u200bc\ufeff"), "a<U+202E>b<U+200B>c<U+FEFF>");
  EXPECT_EQ(visible("\U000E0041"), "<U+E0041>");
}
TEST(Visible, MarksThatPileUpAreNamed) {
  EXPECT_EQ(visible("e\u0301\u0301\u0301\u0301\u0301x"), "e\u0301\u0301\u0301\u0301<U+0301>x");
}
TEST(Visible, ControlsAndInvalidBytesAreReplaced) {
  EXPECT_EQ(visible("\x1b[0m\xff"), "\ufffd[0m\ufffd");
}
TEST(Visible, WordsOfAnyScriptStay) {
  EXPECT_EQ(visible("ä 日本語 ع ⚠\ufe0f 🚀\n\t"), "ä 日本語 ع ⚠\ufe0f 🚀\n\t");
}

TEST(Cells, AreWhatATerminalTakes) {
  EXPECT_EQ(cells("abc"), 3U);
  EXPECT_EQ(cells("äöü"), 3U);
  EXPECT_EQ(cells("日本"), 4U);
  EXPECT_EQ(cells("🚀"), 2U);
  EXPECT_EQ(cells("e\u0301"), 1U);
}

TEST(Fitted, CutsBetweenCharacters) {
  EXPECT_EQ(fitted("abcdef", 6), "abcdef");
  EXPECT_EQ(fitted("abcdef", 4), "abc…");
  EXPECT_EQ(fitted("日本語", 5), "日本…");
  EXPECT_EQ(fitted("abc", 0), "");
}

TEST(Window, ShowsThatSomethingIsMissingOnEitherSide) {
  EXPECT_EQ(window("abcdefgh", 0, 4), "abc…");
  EXPECT_EQ(window("abcdefgh", 2, 4), "…de…");
  EXPECT_EQ(window("abcdefgh", 4, 10), "…fgh");
  EXPECT_EQ(window("abc", 10, 4), "");
}

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_THAT(wrapped("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("one two", 7), ElementsAre("one two"));
}
TEST(Wrapped, BreaksWithinAWordThatIsTooLong) {
  EXPECT_THAT(wrapped("a bcdefghij k", 4), ElementsAre("a", "bcde", "fghi", "j k"));
}
TEST(Wrapped, KeepsLinesAndTheirIndentation) {
  EXPECT_THAT(wrapped("a\n\n    b c", 7), ElementsAre("a", "", "    b c"));
}
TEST(Wrapped, WideCharactersTakeTwoCells) {
  EXPECT_THAT(wrapped("日本語 日本", 6), ElementsAre("日本語", "日本"));
}
TEST(Wrapped, ACharacterThatIsWiderThanALine) {
  EXPECT_THAT(wrapped("日本", 1), ElementsAre("日", "本"));
}

TEST(TailOf, BeginsWithALine) {
  EXPECT_EQ(tail_of("one\ntwo\nthree", 7), "...\nthree");
  EXPECT_EQ(tail_of("one\n", 10), "one");
}

TEST(WithoutCommands, BreaksWhatARunnerExecutes) {
  EXPECT_EQ(without_commands("::error::x"), "\\::error::x");
  EXPECT_EQ(without_commands("a\n \t\u3000\u00a0::x\r::y"), "a\n \t\u3000\u00a0\\::x\r\\::y");
  EXPECT_EQ(without_commands("a ##[error]b ###[x"), "a ##\\[error]b ###\\[x");
  EXPECT_EQ(without_commands("##[::"), "##\\[::");
}
TEST(WithoutCommands, LeavesOtherTextAsItIs) {
  for (const char* text : {"", "a::b", "std::vector\nx ::y", "# [x] ##", ":", "日本::"})
    EXPECT_EQ(without_commands(text), text);
  EXPECT_EQ(without_commands("\xff\xc3"), "\xff\xc3");
}

}  // namespace
}  // namespace kw
