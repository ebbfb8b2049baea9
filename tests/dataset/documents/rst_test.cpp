// reStructuredText → code blocks.
#include <gmock/gmock.h>

#include "documents_world.h"

namespace kw::documents {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Form rst = Form::rst;

TEST(Rst, ADirectivesBodyIsDeindentedAndItsOptionsLeftOut) {
  std::string text =
      "Title\n=====\n\n.. code-block:: python\n   :linenos:\n   :caption: a.py\n\n   def f():\n\n       "
      "pass\n\nWords\n";
  auto found = blocks(rst, text);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].block.language, "python");
  EXPECT_EQ(found[0].code, "def f():\n\n    pass\n");
  EXPECT_FALSE(found[0].block.verbatim);
  EXPECT_EQ(span_of(text, found[0]), "   def f():\n\n       pass\n");
}

TEST(Rst, TheOtherNamesOfTheDirectiveCount) {
  EXPECT_THAT(codes(rst, ".. code::\n\n  a\n\n.. sourcecode:: c\n\n  b\n\n.. image:: c\n\n  d\n"),
              ElementsAre("a\n", "b\n"));
}

TEST(Rst, ALiteralBlockFollowsTwoColons) {
  EXPECT_THAT(codes(rst, "As here::\n\n  a\n   b\n\n  c\nwords\n\n::\n\n\td\n"),
              ElementsAre("a\n b\n\nc\n", "d\n"));
}

TEST(Rst, HighlightNamesTheLanguageOfWhatFollows) {
  EXPECT_THAT(languages(rst, "a::\n\n  b\n\n.. highlight:: cuda\n\nc::\n\n  d\n\n.. code-block:: c\n\n  e\n"),
              ElementsAre("", "cuda", "c"));
}

TEST(Rst, DirectivesStandWithinOthers) {
  EXPECT_THAT(codes(rst, ".. note::\n\n   Words\n\n   .. code-block:: py\n\n      a\n\n   more\n"),
              ElementsAre("a\n"));
}

TEST(Rst, DoctestsAndEmptyBodiesAreNoBlocks) {
  EXPECT_THAT(codes(rst, ">>> f()\n1\n\nwords::\n\nwords\n\n.. code-block:: c\n"), IsEmpty());
}

TEST(Rst, ALargeTextIsReadSoon) {
  for (std::string_view piece :
       {"a::\n\n", "::\n", ".. code::\n", ".. code::\n\n a\n", "\n", "  a::\n\n", ":a:\n", " "})
    EXPECT_TRUE(code_blocks(rst, repeated(piece, 100000))) << piece;
}

}  // namespace
}  // namespace kw::documents
