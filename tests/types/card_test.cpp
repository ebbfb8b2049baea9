// Foreign text in Markdown.
#include "types/card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MarkdownText, MakesNoMarkup) {
  EXPECT_EQ(markdown_text("a|b"), "a\\|b");
  EXPECT_EQ(markdown_text("`code`"), "\\`code\\`");
  EXPECT_EQ(markdown_text("<img src=x>"), "&lt;img src=x>");
  EXPECT_EQ(markdown_text("[x](y)"), "\\[x\\](y)");
  EXPECT_EQ(markdown_text("$x$ ~~y~~ __z__"), "\\$x\\$ \\~\\~y\\~\\~ \\_\\_z\\_\\_");
  EXPECT_THAT(markdown_text("a\nb"), Not(HasSubstr("\n")));
}

TEST(MarkdownText, MakesNoLinks) {
  EXPECT_THAT(markdown_text("https://evil.example"), Not(HasSubstr("://")));
  EXPECT_THAT(markdown_text("WWW.evil.example"), Not(HasSubstr("WWW.")));
  EXPECT_THAT(markdown_text("mailto:me@evil.example"), Not(HasSubstr("@")));
  EXPECT_EQ(markdown_text("kernelbench/1/19"), "kernelbench/1/19");
}

}  // namespace
}  // namespace kw
