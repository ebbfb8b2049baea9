#include <gmock/gmock.h>

#include "dataset/pairs/pairs.h"
#include "dataset/units/row.h"
#include "world.h"

namespace kw::pairs {
namespace {

using corpus::Unit;
using corpus::UnitKind;
using test::Function;

Unit rewrite(const std::string& launcher = "def call():\n    k[(1,)]()\n") {
  Unit unit = test::unit_of(Function{.kind = UnitKind::triton,
                                     .name = "k",
                                     .parameters = {},
                                     .text = "def k(): pass\n",
                                     .launcher = "call"});
  unit.signature_bytes = 8;
  unit.launcher = {.text = launcher, .context = "import triton\n", .own_imports = {}, .context_licences = {}};
  return unit;
}

Unit original(UnitKind kind) {
  Unit unit = test::unit_of(Function{
      .kind = kind, .name = "k", .parameters = {}, .text = "void k() {}", .path = "k.cu", .launcher = {}});
  unit.licence = {.spdx = "Apache-2.0", .evidence = "LICENSE"};
  return unit;
}

TEST(PairRow, ThePromptIsASentenceAndTheSource) {
  auto row = pair_row(original(UnitKind::cuda_kernel), rewrite(), {});
  ASSERT_TRUE(row.has_value()) << row.error();
  EXPECT_EQ(row->prompt, "Rewrite this CUDA kernel in Triton.\n\n```cuda\nvoid k() {}\n```\n");
  EXPECT_EQ(row->kind, corpus::RowKind::cu2triton);
}

TEST(PairRow, TheCompletionIsCodeThatCanBeCalled) {
  auto row = pair_row(original(UnitKind::cuda_kernel), rewrite(), {});
  ASSERT_TRUE(row.has_value()) << row.error();
  EXPECT_EQ(row->completion, "import triton\n\ndef k(): pass\n\ndef call():\n    k[(1,)]()\n");
}

TEST(PairRow, TheDifficultyIsThatOfTheCompletion) {
  auto row = pair_row(original(UnitKind::cuda_kernel), rewrite(), {});
  ASSERT_TRUE(row.has_value()) << row.error();
  EXPECT_EQ(row->difficulty.lines, 4U);  // the import, the kernel, the launcher and its call
  EXPECT_GT(row->difficulty.tokens, 10U);
}

TEST(PairRow, ALauncherThatCallsWhatIsNotThereIsNoPair) {
  auto row = pair_row(original(UnitKind::cuda_kernel), rewrite("def call(x):\n    k[grid_of(x)](x)\n"), {});
  ASSERT_FALSE(row.has_value());
  EXPECT_EQ(row.error(), "the rewrite: nothing defines grid_of");
}

TEST(PairRow, AKernelThatNoFunctionLaunchesIsNoPair) {
  EXPECT_FALSE(pair_row(original(UnitKind::cuda_kernel), rewrite(""), {}).has_value());
}

TEST(PairRow, AKernelWhoseTunerNothingDefinesIsNoPair) {
  for (const char* decorator : {"@cache_autotune(c)", "@heuristics(h)", "@lib.libtuner(c)", "@tuner"}) {
    Unit unit = rewrite();
    unit.text = std::string(decorator) + "\n" + unit.text;
    auto row = pair_row(original(UnitKind::cuda_kernel), unit, {});
    ASSERT_FALSE(row.has_value()) << decorator;
    EXPECT_EQ(row.error(), "the rewrite: nothing defines the decorator that sets its kernel's arguments");
  }
}

TEST(PairRow, OtherDecoratorsThatNothingDefinesAreRemoved) {
  Unit unit = rewrite();
  unit.text = "@libentry()\n" + unit.text;
  EXPECT_TRUE(pair_row(original(UnitKind::cuda_kernel), unit, {}).has_value());
}

TEST(PairRow, CodeThatNeedsItsOwnPackageIsNoPair) {
  auto row = pair_row(original(UnitKind::cuda_kernel),
                      rewrite("import importlib\ndef call():\n    importlib.import_module('a')\n"), {});
  ASSERT_FALSE(row.has_value());
  EXPECT_EQ(row.error(), "the rewrite: it uses importlib.import_module");
  EXPECT_FALSE(
      pair_row(original(UnitKind::cuda_kernel), rewrite("def call():\n    k(__file__)\n"), {}).has_value());
}

Unit torch_original() {
  Unit unit = original(UnitKind::torch);
  unit.name = "k_ref";
  unit.text = "def k_ref(x):\n    return x + x\n";
  unit.signature_bytes = 14;
  return unit;
}

std::string refusal(const std::string& launcher) {
  auto row = pair_row(torch_original(), rewrite(launcher), {});
  return row ? "" : row.error();
}

TEST(PairRow, ARewriteThatCannotBeCalledAsItsReferenceIsNoPair) {
  EXPECT_EQ(refusal("def call(x):\n    k[(1,)](x)\n    return x\n"), "");
  EXPECT_EQ(refusal("def call(x, rstd):\n    k[(1,)](x)\n    return x\n"),
            "the rewrite: it needs rstd, which the reference does not have");
}

TEST(PairRow, ARewriteThatFallsBackToItsReferenceIsNoPair) {
  Unit unit = rewrite("def call(x):\n    if x.is_cuda:\n        k[(1,)](x)\n    return k_ref(x)\n");
  unit.launcher.context += "\ndef k_ref(x):\n    return x + x\n";
  auto row = pair_row(torch_original(), unit, {});
  ASSERT_FALSE(row.has_value());
  EXPECT_EQ(row.error(), "the rewrite: it calls the reference");
}

TEST(PairRow, ANameWithAnotherMeaningOnTheOtherSideIsNoPair) {
  Unit torch = torch_original();
  torch.context = "import torch.nn.functional as F\n";
  torch.text = "def k_ref(x):\n    return F.relu(x)\n";
  Unit unit = rewrite("def call(x):\n    k[(F,)](x)\n    return x\n");
  unit.launcher.context += "F = 4\n";
  auto row = pair_row(torch, unit, {});
  ASSERT_FALSE(row.has_value());
  EXPECT_EQ(row.error(), "F means another thing on the other side");
}

TEST(PairRow, AReferenceThatIsNotWholeIsNoPair) {
  Unit torch = original(UnitKind::torch);
  torch.text = "def k(x):\n    return helper(x)\n";
  torch.signature_bytes = 10;
  auto row = pair_row(torch, rewrite(), {});
  ASSERT_FALSE(row.has_value());
  EXPECT_EQ(row.error(), "the reference: nothing defines helper");
}

TEST(PairRow, BothLicencesAreStated) {
  Match match;
  match.evidence.other_licence = {.spdx = "MIT", .evidence = "LICENSE"};
  auto row = pair_row(original(UnitKind::cuda_kernel), rewrite(), match);
  ASSERT_TRUE(row.has_value()) << row.error();
  EXPECT_EQ(row->licence.spdx, "Apache-2.0");
  EXPECT_EQ(row->pair->other_licence.spdx, "MIT");
}

TEST(PairRow, AReferenceInPyTorchIsFencedAsPython) {
  Unit torch = original(UnitKind::torch);
  torch.text = "def k(x):\n    return x + x\n";
  torch.signature_bytes = 10;
  auto row = pair_row(torch, rewrite("def call(x):\n    k[(1,)](x)\n    return x\n"), {});
  ASSERT_TRUE(row.has_value()) << row.error();
  EXPECT_EQ(row->kind, corpus::RowKind::torch2triton);
  EXPECT_THAT(row->prompt, testing::HasSubstr("```python\n"));
  EXPECT_EQ(row->id, corpus::row_key(row->prompt, row->completion));
}

}  // namespace
}  // namespace kw::pairs
