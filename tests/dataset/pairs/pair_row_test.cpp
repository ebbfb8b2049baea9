#include <gmock/gmock.h>

#include "dataset/pairs/pairs.h"
#include "dataset/units/row.h"
#include "world.h"

namespace kw::pairs {
namespace {

using corpus::Unit;
using corpus::UnitKind;
using test::Function;

Unit kernel(const std::string& launcher_text) {
  Unit unit = test::unit_of(Function{.kind = UnitKind::triton,
                                     .name = "k",
                                     .parameters = {},
                                     .text = "def k(): pass\n",
                                     .launcher = "call"});
  unit.context = "import triton\n";
  unit.launches[0].caller_text = launcher_text;
  return unit;
}

Unit reference(UnitKind kind) {
  Unit unit = test::unit_of(Function{
      .kind = kind, .name = "k", .parameters = {}, .text = "void k() {}", .path = "k.cu", .launcher = {}});
  unit.licence = {.spdx = "Apache-2.0", .evidence = "LICENSE"};
  return unit;
}

TEST(PairRow, ThePromptIsASentenceAndTheSource) {
  auto row = pair_row(reference(UnitKind::cuda_kernel), kernel(""), {});
  EXPECT_EQ(row.prompt, "Rewrite this CUDA kernel in Triton.\n\n```cuda\nvoid k() {}\n```\n");
  EXPECT_EQ(row.kind, corpus::RowKind::cu2triton);
}

TEST(PairRow, TheCompletionIsCodeThatCanBeCalled) {
  auto row = pair_row(reference(UnitKind::cuda_kernel), kernel("def call():\n    k[(1,)]()\n"), {});
  EXPECT_EQ(row.completion, "import triton\n\ndef k(): pass\n\ndef call():\n    k[(1,)]()\n");
}

TEST(PairRow, TheLaunchersImportsAreThere) {
  auto row = pair_row(reference(UnitKind::torch),
                      kernel("def call(x):\n    y = torch.empty_like(x)\n    k[(1,)](y)\n"), {});
  EXPECT_THAT(row.completion, testing::StartsWith("import torch\n\nimport triton\n\ndef k(): pass\n"));
}

TEST(PairRow, AMethodIsNoLauncherThatStandsAlone) {
  auto row = pair_row(reference(UnitKind::cuda_kernel), kernel("def forward(ctx, x):\n    k[(1,)](x)\n"), {});
  EXPECT_EQ(row.completion, "import triton\n\ndef k(): pass\n");
}

TEST(PairRow, BothLicencesAreStated) {
  Match match;
  match.evidence.other_licence = {.spdx = "MIT", .evidence = "LICENSE"};
  auto row = pair_row(reference(UnitKind::cuda_kernel), kernel(""), match);
  EXPECT_EQ(row.licence.spdx, "Apache-2.0");
  EXPECT_EQ(row.pair->other_licence.spdx, "MIT");
}

TEST(PairRow, AReferenceInPyTorchIsFencedAsPython) {
  auto row = pair_row(reference(UnitKind::torch), kernel(""), {});
  EXPECT_EQ(row.kind, corpus::RowKind::torch2triton);
  EXPECT_THAT(row.prompt, testing::HasSubstr("```python\n"));
  EXPECT_EQ(row.id, corpus::row_key(row.prompt, row.completion));
}

}  // namespace
}  // namespace kw::pairs
