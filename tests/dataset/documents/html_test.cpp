// HTML → code blocks.
#include <gmock/gmock.h>

#include "dataset/documents/html.h"
#include "documents_world.h"

namespace kw::documents {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Form html = Form::html;

TEST(Html, TextIsUnescapedAndMarkupLeftOut) {
  std::string text =
      "<p>x</p><pre class=\"code\"><span class=\"k\">if</span> a &lt; b &amp;&amp; c:<br>  d</pre>";
  auto found = blocks(html, text);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "if a < b && c:\n  d");
  EXPECT_FALSE(found[0].block.verbatim);
}

TEST(Html, WhatNeedsNoUnescapingIsVerbatim) {
  std::string text = "<!doctype html>\n<PRE>\nint a;\n</PRE>";
  auto found = blocks(html, text);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].block.verbatim);
  EXPECT_EQ(span_of(text, found[0]), "int a;\n");
}

TEST(Html, LanguagesAreNamedByCodePreOrWhatStandsAroundThem) {
  EXPECT_THAT(
      languages(html,
                "<pre><code class='hljs language-python'>a</code></pre>"
                "<div class=\"highlight-cuda notranslate\"><div "
                "class=\"highlight\">\n<pre><span></span>b</pre></div></div>"
                "<pre data-lang=cpp>c</pre><div class=\"highlight-default\"><pre>d</pre></div><pre>e</pre>"),
      ElementsAre("python", "cuda", "cpp", "", ""));
}

TEST(Html, CodeOutsideOfPreCountsWhenItHasLines) {
  EXPECT_THAT(codes(html, "<code>word</code> <code>two\nlines</code>"), ElementsAre("two\nlines"));
}

TEST(Html, NumbersOfLinesAreLeftOut) {
  EXPECT_THAT(codes(html,
                    "<div class=\"linenodiv\"><pre>1\n2</pre></div>"
                    "<pre><span class=\"linenos\">1</span>a\n<span class=\"linenos\">2</span>b</pre>"),
              ElementsAre("a\nb"));
}

TEST(Html, CommentsScriptsAndWhatIsNeverClosedArePassedOver) {
  EXPECT_THAT(codes(html, "<!-- <pre>a</pre> --><script>'<pre>b</pre>'</script><pre>c</pre><pre>d"),
              ElementsAre("c"));
}

TEST(Html, AnAttributeMayHoldATagsEnd) {
  EXPECT_THAT(codes(html, "<img alt=\"a > <pre>\"><pre title='>'>b</pre>"), ElementsAre("b"));
}

TEST(Html, TagsEndAsABrowserHasIt) {
  EXPECT_EQ(tag_at("<a b=\"x>y\" c='>' d=e>f", 0)->end, 21U);
  EXPECT_EQ(tag_at("<a b\"x>y\">", 0)->end, 7U);
  EXPECT_EQ(tag_at("<a / b / = c>", 0)->attributes, 3U);
  EXPECT_EQ(tag_at("<a b=\"", 0)->end, std::string_view::npos);
  EXPECT_FALSE(tag_at("< a>", 0));
}

TEST(Html, WhatIsClosedOutOfOrderOrNestedDeepIsLeftOut) {
  EXPECT_THAT(codes(html, "<pre><b><div></b>a</div></pre><pre>b</pre>"), ElementsAre("b"));
  EXPECT_THAT(codes(html, "<pre>" + repeated("<i>", 5000) + "a" + repeated("</i>", 5000) + "</pre>"),
              IsEmpty());
}

TEST(Html, WhatTimeMightGrowQuadraticallyWithIsReadSoon) {
  constexpr std::size_t many = 50000;
  for (std::string_view piece :
       {"<", "<a", "<a ", "</a", "</a ", "<pre>", "<code>", "</code>", "<code>\n</code>", "<script>", "<!--",
        "<a b='", "<div>", "<pre></pr", "<b a=1>", "&", "<pre>&lt;</pre>", "<a><pre>"})
    EXPECT_TRUE(code_blocks(html, repeated(piece, many))) << piece;
  EXPECT_TRUE(code_blocks(html, "<pre " + repeated("a ", many) + ">x</pre>"));
  EXPECT_TRUE(code_blocks(html, "<pre>" + repeated("<b><p>", many) + "</pre>"));
  EXPECT_TRUE(code_blocks(html, "<div " + repeated("a", many) + "><pre>x</pre>"));
}

}  // namespace
}  // namespace kw::documents
