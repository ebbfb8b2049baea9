// The launcher that a row shows after its kernel.
#include "dataset/pairs/launcher_choice.h"

#include <gmock/gmock.h>

#include "dataset/pairs/pairs.h"
#include "world.h"

namespace kw::pairs {
namespace {

using corpus::Unit;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view of_triton = "import triton\nimport triton.language as tl\n";

// A kernel and its launcher, with what the launcher needs beside the kernel's imports.
Unit unit_with(const std::string& launcher, const std::string& needs) {
  Unit unit = test::unit_of(corpus::UnitKind::triton, "f",
                            {.text = "@triton.jit\ndef f(x_ptr, n):\n    y = tl.load(x_ptr + n) * 2.0\n"
                                     "    tl.store(x_ptr, tl.exp(y) + 2.0)\n",
                             .signature_end = "n):\n"});
  unit.context = std::string(of_triton);
  unit.launcher.text = launcher;
  unit.launcher.context = needs;
  return unit;
}

// The prompt of a hole in the kernel.
FimPrompt prompt_of(const Unit& unit, std::string& kept) {
  for (corpus::Row& row : fim_rows(unit, {.shortest_completion = 8}).rows)
    if (row.hole->node != "body") {
      kept = std::move(row.prompt);
      return parse_fim_prompt(kept).value_or(FimPrompt{});
    }
  return {};
}

TEST(LauncherChoice, AnImportThatTheLauncherNeedsIsShownWithTheOthers) {
  std::string kept;
  const FimPrompt prompt =
      prompt_of(unit_with("def call(x):\n    f[(1,)](torch.abs(x), 1)\n", "import torch\n"), kept);
  EXPECT_THAT(std::string(prompt.prefix),
              HasSubstr("import torch\nimport triton\nimport triton.language as tl\n\n@triton.jit\n"));
  EXPECT_THAT(std::string(prompt.suffix), HasSubstr("\n\n\ndef call(x):\n    f[(1,)](torch.abs(x), 1)\n"));
}

TEST(LauncherChoice, AnImportOfSeveralLinesStaysWhole) {
  std::string kept;
  const FimPrompt prompt = prompt_of(unit_with("def call(x):\n    f[(1,)](abs(x), 1)\n",
                                               "from torch import (  # the operations\n    abs,\n)\n"),
                                     kept);
  EXPECT_THAT(std::string(prompt.prefix), HasSubstr("from torch import (  # the operations\n    abs,\n)\n"));
  EXPECT_THAT(std::string(prompt.suffix), HasSubstr("def call(x)"));
}

TEST(LauncherChoice, ALauncherWithANameThatNothingDefinesIsNotShown) {
  std::string kept;
  const FimPrompt prompt =
      prompt_of(unit_with("def call(x):\n    f[(1,)](torch.abs(x), 1)\n", std::string(of_triton)), kept);
  ASSERT_NE(kept, "");
  EXPECT_THAT(std::string(prompt.suffix), Not(HasSubstr("call")));
}

TEST(LauncherChoice, AnAssignmentThatTheLauncherNeedsIsShownBeforeIt) {
  std::string kept;
  const FimPrompt prompt =
      prompt_of(unit_with("def call(x):\n    f[(1,)](x, SIZE)\n", "BASE = 2\n\nSIZE = BASE * 4\n"), kept);
  EXPECT_THAT(std::string(prompt.suffix), HasSubstr("BASE = 2\n\nSIZE = BASE * 4\n\ndef call(x):\n"));
}

TEST(LauncherChoice, AFunctionThatTheLauncherCallsIsShownByItsSignature) {
  std::string kept;
  const FimPrompt prompt = prompt_of(
      unit_with("def call(x):\n    f[(1,)](x, size(x))\n", "def size(x):\n    return inner(x) + 1\n"), kept);
  EXPECT_THAT(std::string(prompt.suffix), HasSubstr("def size(x):\n    ...\n"));
  EXPECT_THAT(std::string(prompt.suffix), Not(HasSubstr("inner")));
}

TEST(LauncherChoice, ANameOfAnotherFileIsImportedAsTheLaunchersFileImportsIt) {
  Unit unit = unit_with("def call(x):\n    f[(1,)](x, size(x))\n", "def size(x):\n    return x.n\n");
  unit.launcher.own_imports = "from package.utils import size\n";
  std::string kept;
  const FimPrompt prompt = prompt_of(unit, kept);
  EXPECT_THAT(std::string(prompt.prefix), HasSubstr("from package.utils import size\n"));
  EXPECT_THAT(std::string(prompt.suffix), Not(HasSubstr("def size")));
}

TEST(LauncherChoice, ALauncherThatNeedsAClassWithMethodsIsNotShown) {
  std::string kept;
  const FimPrompt prompt = prompt_of(unit_with("def call(x):\n    f[(1,)](x, Size.of(x))\n",
                                               "class Size:\n    def of(x):\n        return 1\n"),
                                     kept);
  ASSERT_NE(kept, "");
  EXPECT_THAT(std::string(prompt.suffix), Not(HasSubstr("call")));
}

TEST(LauncherChoice, ADecoratorThatNoImportDefinesIsLeftOut) {
  std::string kept;
  const FimPrompt prompt = prompt_of(unit_with("@guard\n@torch.no_grad()\ndef call(x):\n    f[(1,)](x, 1)\n",
                                               "import torch\n\ndef guard(f):\n    return f\n"),
                                     kept);
  EXPECT_THAT(std::string(prompt.suffix), HasSubstr("\n\n@torch.no_grad()\ndef call(x):\n"));
  EXPECT_THAT(std::string(prompt.suffix), Not(HasSubstr("guard")));
}

TEST(LauncherChoice, ALauncherWhoseFileMeansAnotherThingByANameIsNotShown) {
  std::string kept;
  const FimPrompt prompt =
      prompt_of(unit_with("def call(x):\n    f[(1,)](x, SIZE)\n", "SIZE = 2\n\nSIZE = [4, 8]\n"), kept);
  ASSERT_NE(kept, "");
  EXPECT_THAT(std::string(prompt.suffix), Not(HasSubstr("call")));
}

TEST(LauncherChoice, ALauncherThatTheRowHasIsNotShownAgain) {
  const std::string launcher = "def call(x):\n    f[(1,)](x, 1)\n";
  EXPECT_FALSE(shown_launcher(unit_with(launcher, ""), launcher, 1000));
  EXPECT_TRUE(shown_launcher(unit_with(launcher, ""), "def f(x, n):\n    ...\n", 1000));
}

TEST(LauncherChoice, ALauncherIsNotShownWhereItsNeedsDoNotFit) {
  const Unit unit = unit_with("def call(x):\n    f[(1,)](x, SIZE)\n", "SIZE = [4, 8, 16, 32, 64, 128]\n");
  const std::string row = "def f(x, n):\n    ...\n";
  EXPECT_FALSE(shown_launcher(unit, row, 30));
  EXPECT_TRUE(shown_launcher(unit, row, 80));
}

}  // namespace
}  // namespace kw::pairs
