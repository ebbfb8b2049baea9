// What a row shows of its kernel's context.
#include <gmock/gmock.h>

#include "dataset/pairs/pairs.h"
#include "dataset/pairs/row_code.h"
#include "world.h"

namespace kw::pairs {
namespace {

using corpus::Row;
using corpus::Unit;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view imports = "import triton\nimport triton.language as tl\n";

// A kernel whose body uses `scale` and `helper`.
Unit kernel(std::string_view context) {
  Unit unit = test::unit_of(corpus::UnitKind::triton, "f",
                            {.text = "@triton.jit\ndef f(x_ptr, n):\n    y = tl.load(x_ptr + n) * scale\n"
                                     "    tl.store(x_ptr, helper(n, y) + 2.0)\n",
                             .signature_end = "n):\n"});
  unit.context = std::string(imports) + std::string(context);
  return unit;
}

constexpr std::string_view helper = "\n@triton.jit\ndef helper(a, b):\n    return inner(a) * b\n";
constexpr std::string_view inner = "\n@triton.jit\ndef inner(a):\n    return a + 1\n";

std::string prompt_of(const Unit& unit, std::string_view node, std::string_view in_hole = {},
                      const FimOptions& options = {
                          .blocks = 9, .expressions = 9, .calls = 9, .shortest_completion = 8}) {
  for (const Row& row : fim_rows(unit, options).rows)
    if (row.hole->node == node && row.completion.contains(in_hole)) return row.prompt;
  return {};
}

std::string long_body(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += "    a = a * " + std::to_string(i) + " + 1\n";
  return text;
}

TEST(RowContext, AHelperHasItsOwnNeeds) {
  const std::string prompt =
      prompt_of(kernel("scale = 2.0\n" + std::string(inner) + std::string(helper)), "body");
  EXPECT_THAT(prompt, HasSubstr("return inner(a) * b\n"));
  EXPECT_THAT(prompt, HasSubstr("return a + 1\n"));
}

TEST(RowContext, AHelperThatNeedsWhatNothingDefinesIsShownByItsSignature) {
  const std::string prompt = prompt_of(kernel("scale = 2.0\n" + std::string(helper)), "body");
  EXPECT_THAT(prompt, HasSubstr("@triton.jit\ndef helper(a, b):\n    ...\n"));
  EXPECT_THAT(prompt, Not(HasSubstr("inner")));
}

TEST(RowContext, AHelperOfAHelperThatDoesNotFitIsShownByItsSignature) {
  const std::string big = "\n@triton.jit\ndef inner(a):\n" + long_body(200) + "    return a\n";
  const std::string prompt =
      prompt_of(kernel("scale = 2.0\n" + big + std::string(helper)), "body", {}, {.max_tokens = 400});
  EXPECT_THAT(prompt, HasSubstr("def inner(a):\n    ...\n"));
  EXPECT_THAT(prompt, HasSubstr("return inner(a) * b\n"));
}

TEST(RowContext, AStatementThatNeedsWhatNothingDefinesIsShownWhereTheHoleNeedsItsName) {
  const Unit unit =
      kernel("device = Detector()\n\nscale = device.scale\n" + std::string(inner) + std::string(helper));
  const std::string with = prompt_of(unit, "expression", "* scale");
  ASSERT_NE(with, "");
  EXPECT_THAT(with, HasSubstr("\nscale = device.scale\n"));
  EXPECT_THAT(with, Not(HasSubstr("Detector")));
  const std::string without = prompt_of(unit, "call", "tl.store");
  ASSERT_NE(without, "");
  EXPECT_THAT(without, Not(HasSubstr("device")));
}

TEST(RowContext, AStatementOfWhichAnotherFileDefinesANeedIsShownWithItsImport) {
  Unit unit =
      kernel("class Detector(Base):\n    scale = 2.0\n\ndevice = Detector()\n\nscale = device.scale\n" +
             std::string(inner) + std::string(helper));
  unit.own_imports = "from package.runtime import device\n";
  const std::string prompt = prompt_of(unit, "expression", "* scale");
  EXPECT_THAT(prompt, HasSubstr("from package.runtime import device\n"));
  EXPECT_THAT(prompt, HasSubstr("\nscale = device.scale\n"));
  EXPECT_THAT(prompt, Not(HasSubstr("Detector")));
}

TEST(RowContext, AFunctionThatIsShownByItsSignatureIsNotImported) {
  Unit unit = kernel("scale = 2.0\n" + std::string(helper));
  unit.own_imports = "from package.utils import helper\n";
  const std::string prompt = prompt_of(unit, "body");
  EXPECT_THAT(prompt, HasSubstr("def helper(a, b):\n    ...\n"));
  EXPECT_THAT(prompt, Not(HasSubstr("package")));
}

// A kernel of many statements, of which the first one calls `helper`.
Unit long_kernel() {
  std::string text = "@triton.jit\ndef f(x_ptr, n):\n    a = helper(n, 0) + 1.0\n" + long_body(40);
  Unit unit =
      test::unit_of(corpus::UnitKind::triton, "f",
                    {.text = text + "    tl.store(x_ptr + n, a * 0.5 + 2.25)\n", .signature_end = "n):\n"});
  unit.context =
      std::string(imports) + "\n@triton.jit\ndef helper(a, b):\n" + long_body(60) + "    return a\n";
  return unit;
}

TEST(RowContext, AStatementIsShownWithTheSignatureOfTheFunctionThatItCalls) {
  for (std::size_t tokens = 300; tokens < 1000; tokens += 20) {
    const std::string prompt = prompt_of(long_kernel(), "call", "tl.store", {.max_tokens = tokens});
    ASSERT_NE(prompt, "");
    EXPECT_EQ(prompt.contains("a = helper(n, 0)"), prompt.contains("def helper(a, b):\n")) << tokens;
  }
}

TEST(RowContext, WhatTheJitDecoratorUsesIsShown) {
  Unit unit = kernel("IS_NEW = True\nscale = 2.0\n" + std::string(inner) + std::string(helper));
  unit.text = "@triton.jit(debug=IS_NEW)" + unit.text.substr(unit.text.find('\n'));
  unit.signature_bytes = unit.text.find("n):\n") + 4;
  EXPECT_THAT(prompt_of(unit, "body"), HasSubstr("\nIS_NEW = True\n"));
}

TEST(RowContext, OneMarkStandsForNeighboursAtTheEndOfTheKernel) {
  Unit unit = kernel("scale = 2.0\n" + std::string(inner) + std::string(helper));
  unit.text = "@triton.jit\ndef f(x_ptr, n):\n    tl.store(x_ptr, tl.exp(n * 0.5) + 2.25)\n" + long_body(90);
  const std::string prompt = prompt_of(unit, "call", "tl.store", {.max_tokens = 300});
  EXPECT_THAT(prompt, HasSubstr("    # ...\n"));
  EXPECT_THAT(prompt, Not(HasSubstr("# ...\n    # ...")));
}

TEST(RowContext, AStatementWhoseNeedsAreMetIsShown) {
  const Unit unit = kernel("device = 3\n\nscale = device * 2\n" + std::string(inner) + std::string(helper));
  EXPECT_THAT(prompt_of(unit, "call", "tl.store"), HasSubstr("\ndevice = 3\n\nscale = device * 2\n"));
}

TEST(RowContext, ADecoratorWhoseNeedsAreNotMetIsLeftOutAndItsHelperStays) {
  const std::string decorated =
      "\ndef shim(f):\n    return backend.find(f)\n\n@shim\n" + std::string(inner).substr(1);
  const std::string prompt = prompt_of(kernel("scale = 2.0\n" + decorated + std::string(helper)), "body");
  EXPECT_THAT(prompt, HasSubstr("return a + 1\n"));
  EXPECT_THAT(prompt, Not(HasSubstr("shim")));
}

TEST(RowContext, ADefinitionThatHidesANameOfPythonIsShown) {
  Unit unit = kernel("pow = tl.math.pow\n");
  unit.text = "@triton.jit\ndef f(x_ptr, n):\n    tl.store(x_ptr, pow(tl.load(x_ptr + n), 2.0) + 1.0)\n";
  EXPECT_THAT(prompt_of(unit, "body"), HasSubstr("\npow = tl.math.pow\n"));
}

TEST(RowContext, ALauncherWithItsKernelsNameIsNotShown) {
  Unit unit = kernel("scale = 2.0\n" + std::string(inner) + std::string(helper));
  unit.launcher.text = "def f(x):\n    f_kernel[(1,)](x, 1)\n";
  unit.context += "\ndef f(x):\n    f_kernel[(1,)](x, 1)\n";
  const std::string prompt = prompt_of(unit, "call", "tl.store");
  ASSERT_NE(prompt, "");
  EXPECT_THAT(prompt, Not(HasSubstr("f_kernel")));
}

TEST(RowContext, ANameWithTwoMeaningsLeavesTheRowOutAndIsCounted) {
  const std::string other = "scale = 2.0\n\nscale = 3.0\n";
  FimRows made = fim_rows(kernel(other + std::string(inner) + std::string(helper)), {});
  EXPECT_GT(made.left_out[std::string(two_meanings)], 0U);
  EXPECT_TRUE(made.rows.empty());
}

}  // namespace
}  // namespace kw::pairs
