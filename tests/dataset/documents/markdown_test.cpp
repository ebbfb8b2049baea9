// Markdown → code blocks.
#include <gmock/gmock.h>

#include "documents_world.h"

namespace kw::documents {
namespace {

using testing::ElementsAre;

constexpr Form md = Form::markdown;

TEST(Markdown, AFencedBlockIsTheBytesBetweenItsFences) {
  std::string text = "# Title\n\n```python title=\"x\"\nx = a[0] & b_1 * '\\\\'  # <b>!\n\n```\nend\n";
  auto found = blocks(md, text);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].block.language, "python");
  EXPECT_EQ(found[0].code, "x = a[0] & b_1 * '\\\\'  # <b>!\n\n");
  EXPECT_TRUE(found[0].block.verbatim);
  EXPECT_EQ(span_of(text, found[0]), found[0].code);
}

TEST(Markdown, TildesAndUnclosedFencesAreRead) {
  EXPECT_THAT(codes(md, "~~~\n```\n~~~\n\n```\nto the end"), ElementsAre("```\n", "to the end"));
}

TEST(Markdown, AnIndentedBlockIsDeindented) {
  std::string text = "words\n\n    a\n\n      b\n\nwords\n";
  auto found = blocks(md, text);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "a\n\n  b\n");
  EXPECT_FALSE(found[0].block.verbatim);
  EXPECT_EQ(span_of(text, found[0]), "    a\n\n      b\n");
}

TEST(Markdown, BlocksWithinListsAndQuotesLoseWhatStandsBeforeThem) {
  std::string text = "- item\n  ```c\n  int a;\n  ```\n\n> ```\n> b\n> ```\n";
  auto found = blocks(md, text);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].code, "int a;\n");
  EXPECT_EQ(span_of(text, found[0]), "  int a;\n");
  EXPECT_EQ(found[1].code, "b\n");
  EXPECT_EQ(span_of(text, found[1]), "> b\n");
}

TEST(Markdown, ABlockThatRepeatsItsLanguageBeginsBehindTheFence) {
  std::string text = "```c\nc\n```\n";
  EXPECT_EQ(span_of(text, blocks(md, text).at(0)), "c\n");
}

TEST(Markdown, LinesMayEndWithCarriageReturns) {
  std::string text = "a\r\n\r\n```py\r\nx\r\ny\r\n```\r\n";
  auto found = blocks(md, text);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(span_of(text, found[0]), "x\r\ny\r\n");
}

TEST(Markdown, LanguagesAreTakenFromWhatFollowsTheFence) {
  EXPECT_THAT(
      languages(
          md,
          "```{.python .x}\na\n```\n```{code-cell} ipython3\nb\n```\n```cpp,ignore\nc\n```\n```\nd\n```\n"),
      ElementsAre("python", "ipython3", "cpp", ""));
}

TEST(Markdown, CodeInHtmlIsUnescaped) {
  std::string text =
      "words\n\n<pre><code class=\"language-cuda\">a &lt; b\n\nc[i]</code></pre>\n\n<pre>\nplain_text * "
      "2\n</pre>\n";
  auto found = blocks(md, text);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].code, "a < b\n\nc[i]");
  EXPECT_EQ(found[0].block.language, "cuda");
  EXPECT_EQ(span_of(text, found[0]), "a &lt; b\n\nc[i]");
  EXPECT_EQ(found[1].code, "plain_text * 2\n");
  EXPECT_TRUE(found[1].block.verbatim);
}

TEST(Markdown, AMarkAtTheFrontMovesNoSpan) {
  std::string text = "\xEF\xBB\xBF```\na\n```\n";
  EXPECT_EQ(span_of(text, blocks(md, text).at(0)), "a\n");
}

TEST(Markdown, BlankBlocksAreNone) {
  EXPECT_TRUE(blocks(md, "```\n\n```\n").empty());
}

TEST(Markdown, WhatTimeMightGrowQuadraticallyWithIsReadSoon) {
  constexpr std::size_t many = 50000;
  for (std::string_view piece :
       {"[",     "[a](", "![",        "*a_ ",    "**_",      "<a ",   "<!--",  "&",
        "`",     "> ",   "- ",        "1. ",     "\\",       "]",     "<pre>", "</pre>",
        "~~~\n", "    ", "<![CDATA[", "a\n<x\n", "[a]: b\n", "```x\n"})
    EXPECT_TRUE(code_blocks(md, repeated(piece, many))) << piece;
}

}  // namespace
}  // namespace kw::documents
