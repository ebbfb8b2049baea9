// Notebooks → code blocks, and the common behaviour of all forms.
#include <gmock/gmock.h>

#include "dataset/documents/notebook.h"
#include "documents_world.h"

namespace kw::documents {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Form notebook = Form::notebook;

std::string cells(const std::string& sources) {
  return R"({"metadata": {"a": "}]\""}, "cells": [{"cell_type": "markdown", "source": "# x"}, )" + sources +
         R"(], "nbformat": 4})";
}

TEST(Notebook, CodeCellsAreBlocks) {
  std::string text = cells(R"({"outputs": [{"source": 1}], "source": ["a = 1\n", "b"], "cell_type": "code"},)"
                           R"( {"cell_type": "code", "source": "c\n"})");
  auto found = blocks(notebook, text);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].code, "a = 1\nb");
  EXPECT_EQ(found[0].block.language, "python");
  EXPECT_EQ(span_of(text, found[0]), R"(["a = 1\n", "b"])");
  EXPECT_FALSE(found[0].block.verbatim);
  EXPECT_EQ(span_of(text, found[1]), R"("c\n")");
}

TEST(Notebook, WorksheetsOfOlderOnesAreRead) {
  EXPECT_THAT(codes(notebook, R"({"worksheets": [{"cells": [{"cell_type": "code", "input": ["a"]}]}]})"),
              ElementsAre("a"));
}

TEST(Notebook, TheKernelNamesTheLanguage) {
  EXPECT_THAT(languages(notebook, R"({"metadata": {"kernelspec": {"language": "julia"}}, "cells": [)"
                                  R"({"cell_type": "code", "source": "a"}]})"),
              ElementsAre("julia"));
}

TEST(Notebook, CellsOfAnotherLanguageSaySo) {
  std::string text = cells(R"({"cell_type": "code", "source": "%%writefile k.cu\nint a;"},)"
                           R"({"cell_type": "code", "source": "\n%%bash -e\nls"},)"
                           R"x({"cell_type": "code", "source": "%%time\nf(1)"})x");
  EXPECT_THAT(languages(notebook, text), ElementsAre("cu", "bash", "python"));
  EXPECT_THAT(codes(notebook, text), ElementsAre("int a;", "ls", "# %%time\nf(1)"));
}

TEST(Notebook, MagicsBecomeComments) {
  EXPECT_EQ(without_magics("!pip install x\nif a:\n    %timeit f()\n    pass\n"),
            "# !pip install x\nif a:\n    # %timeit f()\n    pass\n");
}

TEST(Notebook, WhatLooksLikeAMagicWithinStringsAndBracketsStays) {
  std::string text = "s = \"\"\"\n%r1 \\\"\"\"\n!x\n\"\"\"\ny = (a  # it's (\n%b)\nz = 1 \\\n%c\n";
  EXPECT_EQ(without_magics(text), text);
  EXPECT_EQ(without_magics("x = 'a(\n%who"), "x = 'a(\n# %who");
}

TEST(Notebook, WhatIsNoneIsAnError) {
  EXPECT_THAT(code_blocks(notebook, "{").error().what, HasSubstr("not JSON"));
  EXPECT_THAT(code_blocks(notebook, "[]").error().what, HasSubstr("no notebook"));
  EXPECT_FALSE(code_blocks(notebook, repeated("[", 1000000)));
}

TEST(Notebook, OddShapesAreNoCells) {
  for (const char* text : {R"({"cells": 1})", R"({"cells": [1, [], {"cell_type": "code"}]})", "{}",
                           R"({"cells": [{"cell_type": "code", "source": 1}]})", R"({"worksheets": [[], 1]})",
                           R"({"cells": [{"cell_type": "code", "sour\u0063e": "a"}]})"})
    EXPECT_TRUE(blocks(notebook, text).empty()) << text;
}

TEST(Documents, TheNameTellsTheForm) {
  EXPECT_EQ(form_of("a/README.MD"), Form::markdown);
  EXPECT_EQ(form_of("a.htm"), Form::html);
  EXPECT_EQ(form_of("docs/a.rst"), Form::rst);
  EXPECT_EQ(form_of("a.ipynb"), Form::notebook);
  EXPECT_EQ(form_of("a.py"), std::nullopt);
  EXPECT_EQ(form_of(".md"), std::nullopt);
}

TEST(Documents, WhatIsNotUtf8OrTooLargeIsAnError) {
  for (Form form : {Form::markdown, Form::rst, Form::html, Form::notebook}) {
    EXPECT_THAT(code_blocks(form, "a \xFF").error().what, HasSubstr("UTF-8"));
    EXPECT_TRUE(code_blocks(form, std::string(1, '\0')) || form == Form::notebook);
  }
  EXPECT_THAT(code_blocks(Form::rst, std::string((4 << 20) + 1, 'a')).error().what, HasSubstr("4 MiB"));
}

TEST(Documents, BlocksAreNumberedInOrder) {
  auto found = blocks(Form::markdown, "```\na\n```\n```\n \n```\n```\nb\n```\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].block.index, 1U);
}

}  // namespace
}  // namespace kw::documents
