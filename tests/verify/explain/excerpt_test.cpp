// The shown lines, and the underlined part of the line.
#include "verify/explain/excerpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world.h"

namespace kw::explain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::size_t> numbers(std::string_view source, std::size_t line) {
  std::vector<std::size_t> all;
  auto excerpt = excerpt_of(source, line);
  if (!excerpt) return all;
  for (const SourceLine& each : excerpt->lines) all.push_back(each.number);
  return all;
}

// The underlined part of the line for an error; "-": none.
std::string underlined(ErrorClass error_class, const std::string& error, const std::string& line) {
  auto span = named_in(failed(error_class, Stage::run, error, 1), line);
  return span ? line.substr(span->begin, span->end - span->begin) : "-";
}

TEST(Excerpt, OfTheFirstAndTheLastLine) {
  EXPECT_THAT(numbers("a\nb\nc\nd", 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers("a\nb\nc\nd", 4), ElementsAre(2, 3, 4));
}
TEST(Excerpt, ALineBeyondTheEndHasNone) {
  EXPECT_FALSE(excerpt_of("a\nb", 3));
  EXPECT_FALSE(excerpt_of("a\nb", 0));
  EXPECT_FALSE(excerpt_of("", 2));
  EXPECT_THAT(shown(failed(ErrorClass::runtime_error, Stage::run, "it broke", 99)), Not(HasSubstr(" | ")));
}
TEST(Excerpt, BlankLinesAroundItAreLeftOut) {
  EXPECT_THAT(numbers("a\n\nb\n  \nc", 3), ElementsAre(1, 3, 5));
}

TEST(Caret, IsTheCompilersEvenWhereTheKernelIsIndentedOtherwise) {
  auto span = caret_of("at 2:8:\ndef k(p):\n    x = tl.load(p)\n        ^\nwrong", "        x = tl.load(p)");
  ASSERT_TRUE(span);
  EXPECT_EQ(span->begin, 12U);
  EXPECT_EQ(span->end, 19U);
}
TEST(Caret, OfAnotherLineIsNone) {
  EXPECT_FALSE(caret_of("at 2:8:\n    x = tl.load(p)\n        ^\nwrong", "    y = tl.load(q)"));
  EXPECT_FALSE(caret_of("^\n^\n   ^", "x"));
}

TEST(Underline, OfSeveralLoadsTheOneThatIsHandedTheTensor) {
  std::string error =
      "out-of-bounds load in k, line 1: 3 of 4 lanes lie beyond every tensor (0 bytes beyond `b`)";
  std::string line = "c = tl.load(a + i) + tl.load(b + i)";
  auto span = named_in(failed(ErrorClass::out_of_bounds, Stage::run, error, 1), line);
  ASSERT_TRUE(span);
  EXPECT_EQ(span->begin, line.rfind("tl.load"));
  EXPECT_EQ(underlined(ErrorClass::out_of_bounds, "out-of-bounds load in k, line 1", line), "-");
}
TEST(Underline, AtomicsAndStores) {
  EXPECT_EQ(underlined(ErrorClass::out_of_bounds, "out-of-bounds store in k", "tl.store(p, 1)"), "tl.store");
  EXPECT_EQ(underlined(ErrorClass::out_of_bounds, "out-of-bounds atomic in k", "x = stored(p)"), "-");
}
TEST(Underline, TheNameThatTheErrorQuotes) {
  std::string line = "    y = torch.tanhh(x)";
  EXPECT_EQ(underlined(ErrorClass::runtime_error, "module 'torch' has no attribute 'tanhh'", line),
            "torch.tanhh");
  EXPECT_EQ(underlined(ErrorClass::runtime_error, "name 'z' is not defined. Did you mean: 'y'?", line), "-");
  EXPECT_EQ(underlined(ErrorClass::runtime_error, "it can't; 'x' is no tensor", line), "x");
  EXPECT_EQ(underlined(ErrorClass::runtime_error, "'.' and '' and '", line), "-");
}
TEST(Underline, ANameIsAWordOfItsOwn) {
  EXPECT_EQ(underlined(ErrorClass::runtime_error, "name 'x' is not defined", "max(xs)"), "-");
}
TEST(Underline, WhatIsForbidden) {
  EXPECT_EQ(
      underlined(ErrorClass::forbidden, "line 1: looks into frames: f_back is forbidden", "g = f.f_back"),
      "f_back");
}
TEST(Underline, WhereAColonIsMissing) {
  auto span =
      named_in(failed(ErrorClass::syntax_error, Stage::parse, "SyntaxError: expected ':'", 1), "def f()  ");
  ASSERT_TRUE(span);
  EXPECT_EQ(span->begin, 7U);
}

TEST(Columns, AreCharactersFromOne) {
  Excerpt excerpt{.line = 1, .lines = {{1, "ä = tl.load(p)"}}, .span = Span{5, 12}};
  EXPECT_EQ(columns_of(excerpt).begin, 5U);
  EXPECT_EQ(columns_of(excerpt).end, 12U);
  excerpt.span.reset();
  EXPECT_EQ(columns_of(excerpt).begin, 0U);
}

std::string shown_line(const std::string& line, const std::string& name, std::size_t width = 100) {
  Verdict broke = failed(ErrorClass::runtime_error, Stage::run, "name '" + name + "' is not defined", 1);
  return to_terminal(explain(broke, {.candidate = line}), {.colours = false, .width = width});
}

TEST(CaretOnATerminal, StandsBelowItsNameBehindTabs) {
  EXPECT_THAT(shown_line("\tif x:\tfoo", "foo"), HasSubstr("  >    1 |     if x:    foo\n"
                                                           "         |              ^^^\n"));
}
TEST(CaretOnATerminal, StandsBelowItsNameBehindWideCharacters) {
  EXPECT_THAT(shown_line("s = '日本'; foo", "foo"), HasSubstr("  >    1 | s = '日本'; foo\n"
                                                              "         |             ^^^\n"));
}
TEST(CaretOnATerminal, ALongLineIsShownAroundIt) {
  std::string line = std::string(500, 'a') + " foo " + std::string(500, 'b');
  EXPECT_THAT(shown_line(line, "foo", 60),
              HasSubstr("  >    1 | …aaaaaaaaaaaaaa foo bbbbbbbbbbbbbbbbbbbbbbbbbbb…\n"
                        "         |                 ^^^\n"));
}
TEST(CaretOnATerminal, ALineThatEndsWithACarriageReturn) {
  EXPECT_THAT(shown_line("foo\r\nbar\r\n", "foo"),
              HasSubstr("  >    1 | foo\n         | ^^^\n       2 | bar\n"));
}

}  // namespace
}  // namespace kw::explain
