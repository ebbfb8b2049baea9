#include "dataset/extract/code_parts.h"

#include <gmock/gmock.h>

namespace kw::harvest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

corpus::Span span_of(const std::string& code, const std::string& part) {
  return {code.find(part), code.find(part) + part.size()};
}

// The code without its spare parts.
std::string bare(std::string code, const std::string& hole, Language language = Language::python) {
  auto parts = spare_parts(code, span_of(code, hole), language);
  std::ranges::sort(parts, {}, [](const SparePart& part) { return ~part.span.begin; });
  for (const SparePart& part : parts)
    code.replace(part.span.begin, part.span.end - part.span.begin, part.instead);
  return code;
}

TEST(CodeParts, EachStatementStatesWhatItDefinesAndUses) {
  auto found =
      code_parts("import triton.language as tl\nN = 4\ndef f(x):\n    y = tl.exp(x)\n    return y + N\n",
                 Language::python);
  ASSERT_EQ(found.parts.size(), 3U);
  EXPECT_TRUE(found.parts[0].is_import);
  EXPECT_THAT(found.parts[0].defines, ElementsAre("tl"));
  EXPECT_THAT(found.parts[2].defines, ElementsAre("f"));
  EXPECT_THAT(found.parts[2].uses, ElementsAre("N", "tl"));
}

TEST(CodeParts, AMemberOfAModuleBelongsToTheModulesName) {
  auto found = code_parts("m = make()\nm.f = g\n", Language::python);
  EXPECT_THAT(found.parts.back().defines, ElementsAre("m"));
}

TEST(UndefinedNames, NamesThatNothingDefinesAreFound) {
  EXPECT_THAT(undefined_names("import torch\ndef f(x):\n    return helper(torch.exp(x), len(x))\n"),
              ElementsAre("helper"));
  EXPECT_THAT(undefined_names("def f(x):\n    return g(x)\n\ndef g(x):\n    return [y for y in x]\n"),
              IsEmpty());
}

TEST(UndefinedNames, ABareAnnotationDefinesNoName) {
  EXPECT_THAT(undefined_names("device: str\n\ndef f(x):\n    return x.to(device)\n"), ElementsAre("device"));
  EXPECT_THAT(undefined_names("device: str = 'cpu'\n\ndef f(x):\n    return x.to(device)\n"), IsEmpty());
}

TEST(UndefinedNames, ABranchForTypeCheckersDefinesNoName) {
  const std::string head = "import typing\n\nif typing.TYPE_CHECKING:\n    device: str\n";
  const std::string use = "\ndef f(x):\n    return x.to(device)\n";
  EXPECT_THAT(undefined_names(head + use), ElementsAre("device"));
  EXPECT_THAT(undefined_names(head + "else:\n    device = 'cpu'\n" + use), IsEmpty());
}

TEST(UndefinedNames, AnnotationsThatAreNotEvaluatedMayUseTypeCheckersNames) {
  const std::string rest =
      "import typing\nif typing.TYPE_CHECKING:\n    from torch import Tensor\n\ndef f(x: Tensor): ...\n";
  EXPECT_THAT(undefined_names(rest), ElementsAre("Tensor"));
  EXPECT_THAT(undefined_names("from __future__ import annotations\n" + rest), IsEmpty());
}

TEST(UndefinedNames, ARelativeImportDefinesNothingThatExists) {
  EXPECT_THAT(undefined_names("from ..utils import f\nf()\n"), ElementsAre("from ..utils import f"));
}

TEST(Decorators, OneThatNothingDefinesGoes) {
  EXPECT_EQ(without_unknown_decorators("import triton\n\n@libentry()\n@triton.jit\ndef f(x):\n    pass\n"),
            "import triton\n\n@triton.jit\ndef f(x):\n    pass\n");
}

TEST(SpareParts, StatementsBesideTheHoleGoAndTheRestParses) {
  std::string code =
      "@jit\ndef f(x, n):\n    a = 1\n    # why\n    b = 2\n    for i in range(n):\n        c = i\n"
      "        d = c + 1\n        e = d\n    g = 5\n";
  std::string rest = bare(code, "c + 1");
  EXPECT_EQ(rest,
            "@jit\ndef f(x, n):\n    # ...\n    # ...\n    for i in range(n):\n        # ...\n"
            "        d = c + 1\n        # ...\n    # ...\n");
  EXPECT_TRUE(parses(rest, Language::python));
}

TEST(SpareParts, TheNearestComesFirst) {
  std::string code = "def f():\n    far = 1\n    near = 2\n    hole = g(3)\n    far = near\n";
  auto parts = spare_parts(code, span_of(code, "g(3)"), Language::python);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(code.substr(parts.back().span.begin, 11), "    far = 1");
}

TEST(SpareParts, AHoleOfWholeLinesKeepsItsBlock) {
  std::string code = "def f(n):\n    if n:\n        a = 1\n        b = 2\n        c = 3\n    d = 4\n";
  EXPECT_EQ(bare(code, "        b = 2\n        c = 3"),
            "def f(n):\n    if n:\n        # ...\n        b = 2\n        c = 3\n    # ...\n");
}

TEST(SpareParts, OtherBranchesBecomeEmpty) {
  std::string code = "def f(n):\n    if n:\n        a = 1\n        b = 2\n    else:\n        c = h(3)\n";
  std::string rest = bare(code, "h(3)");
  EXPECT_EQ(rest, "def f(n):\n    if n:\n        ...\n    else:\n        c = h(3)\n");
}

TEST(SpareParts, StatementsOfCudaGoToo) {
  std::string code = "void f(int n) {\n  int a = 1;\n  if (n) {\n    a = g(2);\n  }\n}";
  EXPECT_EQ(bare(code, "g(2)", Language::cuda),
            "void f(int n) {\n  // ...\n  if (n) {\n    a = g(2);\n  }\n}");
}

TEST(SpareParts, ALongChainOfBranchesIsNoDeepRecursion) {
  std::string code = "void f(int n) {\n  hole(n);\n  if (n) {\n    a();\n  }";
  for (int i = 0; i < 20'000; ++i) code += " else if (n) {\n    b();\n  }";
  code += "\n}";
  EXPECT_FALSE(spare_parts(code, span_of(code, "hole(n);"), Language::cuda).empty());
}

TEST(SpareParts, CodeThatDoesNotParseHasNone) {
  EXPECT_THAT(spare_parts("def f(:\n    a = 1\n    b = 2\n", {20, 21}, Language::python), IsEmpty());
}

}  // namespace
}  // namespace kw::harvest
