// A candidate's text cannot control the terminal, hide, or flood it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/display.h"
#include "base/core/text.h"
#include "world.h"

namespace kw::explain {
namespace {

using testing::HasSubstr;
using testing::Not;

// Bytes that a terminal executes, hides or cannot decode.
const std::string hostile = "\x1b[2J\x1b]0;title\x07\b\r\u202ednettahw\u202c\u200b\ufeff\u2028\xff\xc3\x00";

void expect_harmless(const std::string& text, std::size_t width = 100) {
  EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(text, visible(text));
  EXPECT_LE(text.size(), 20'000U);
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t end = rest.find('\n');
    ASSERT_NE(end, std::string_view::npos);
    EXPECT_LE(cells(rest.substr(0, end)), width) << rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
}

Verdict all_hostile(const std::string& text) {
  Verdict verdict = failed(ErrorClass::runtime_error, Stage::run, text, 2);
  verdict.id = text;
  verdict.error_detail->file = text;
  verdict.error_detail->compiler_text = text;
  verdict.printed = text;
  verdict.comparison.emplace();
  verdict.comparison->first_mismatch = FirstMismatch{text, {1}, 0, 1};
  verdict.comparison->findings = std::vector<std::string>(50, text);
  return verdict;
}

TEST(Hostile, EveryTextIsMadeVisible) {
  std::string source = fmt::format("{0}\n{0} = '{0}'\n{0}\n", hostile);
  std::string text = shown(all_hostile(hostile), source);
  expect_harmless(text);
  EXPECT_THAT(text, HasSubstr("<U+202E>dnettahw<U+202C><U+200B><U+FEFF><U+2028>"));
}

// A line at the left edge would look like another candidate's.
TEST(Hostile, ANewlineInANameForgesNoLine) {
  Verdict verdict = all_hostile("a\nother: correct");
  std::string text = shown(verdict, "x\n");
  EXPECT_THAT(text, HasSubstr("a<U+000A>other: correct"));
  EXPECT_THAT(text, Not(HasSubstr("\nother")));
}

TEST(Unknown, AWordOfANewerVersionIsNotTakenForAnother) {
  Verdict verdict = failed(ErrorClass::runtime_error, Stage::run, "a new thing", 1);
  verdict.error_class.reset();
  EXPECT_EQ(explain(verdict, {}).words.what, "It did not work.");
  verdict.status = Status::correct;
  verdict.counts = false;
  EXPECT_EQ(explain(verdict, {}).words.what, "The result is right, but it does not count.");
}

TEST(Hostile, InAnIncorrectOneToo) {
  Verdict verdict = all_hostile(hostile);
  verdict.status = Status::incorrect;
  expect_harmless(shown(verdict, hostile));
}
TEST(Hostile, InTheCausesOfOneThatDoesNotCount) {
  Verdict verdict = does_not_count(CountsReason::library_only);
  Launch launch;
  launch.name = launch.whose.emplace(hostile + std::string(500, 'x'));
  verdict.launches = std::vector<Launch>(50, launch);
  expect_harmless(shown(verdict, "import torch\ntorch." + std::string(500, 'f') + "(1)\n"));
}
TEST(Hostile, LongTextsAreCut) {
  for (const char* piece : {"x", "y ", "\n", "日", "\u0301", "\xff", "'", "'a' "}) {
    std::string text;
    while (text.size() < 200'000) text += piece;
    SCOPED_TRACE(piece);
    expect_harmless(shown(all_hostile(text), "a\n" + text + "\nb"));
  }
}
TEST(Hostile, ANarrowTerminal) {
  Verdict verdict = all_hostile("word 日本語 " + hostile);
  for (std::size_t width : {0U, 1U, 5U, 12U, 40U})
    EXPECT_LE(to_terminal(explain(verdict, {.candidate = code}), {.colours = false, .width = width}).size(),
              200'000U);
}
TEST(Hostile, AThousandCaretsInTheCompilersText) {
  Verdict verdict = failed(ErrorClass::compile_error, Stage::compile, "no", 8);
  std::string carets;
  for (int i = 0; i < 1000; ++i)
    carets += "    x = tl.load(p)\n" + std::string(static_cast<std::size_t>(i), ' ') + "^\n";
  verdict.error_detail->compiler_text = carets;
  std::string text = shown(verdict);
  expect_harmless(text);
}
TEST(Hostile, AnEscapeIsNoEscape) {
  EXPECT_THAT(shown(all_hostile(hostile)), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace kw::explain
