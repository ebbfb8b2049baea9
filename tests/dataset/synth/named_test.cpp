#include "dataset/synth/named.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/core/files.h"
#include "dataset/synth/operations.h"

namespace kw::synth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

corpus::SourceFile file_of(std::string bytes) {
  corpus::SourceFile file;
  file.origin.name = "pack";
  file.origin.version = "1.2";
  file.path = "ops/sigmoid.py";
  file.licence = {.spdx = "MIT", .evidence = "LICENSE"};
  file.bytes = std::move(bytes);
  return file;
}

const std::string head =
    "import torch\nimport triton\nimport triton.language as tl\n\n"
    "@triton.jit\ndef kernel(x_ptr, n):\n    tl.store(x_ptr, tl.load(x_ptr + n))\n\n";

TEST(NamedDrafts, AFunctionWithTheNameOfAnOperationIsOne) {
  auto drafts = named_drafts(file_of(head + "def sigmoid(x):\n    kernel[(1,)](x, 1)\n    return x\n"), 0);
  ASSERT_EQ(drafts.size(), 1U);
  EXPECT_EQ(drafts[0].name, "sigmoid");
  EXPECT_EQ(drafts[0].family, "unary");
  EXPECT_THAT(drafts[0].kernel, HasSubstr("def sigmoid(x)"));
  EXPECT_THAT(drafts[0].kernel, testing::EndsWith("def triton_kernel_wrapper(x):\n    return sigmoid(x)\n"));
  EXPECT_EQ(drafts[0].licence, "MIT");
  EXPECT_EQ(drafts[0].origin, "pack 1.2: ops/sigmoid.py");
  EXPECT_EQ(id_of(3, drafts[0]), "synth-named-3-0");
  auto again = draft_from(to_json(drafts[0]));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->licence + again->origin, drafts[0].licence + drafts[0].origin);
  ASSERT_TRUE(again->triton_source);
  EXPECT_EQ(again->triton_source->origin.version + " " + again->triton_source->path, "1.2 ops/sigmoid.py");
}

TEST(NamedDrafts, AKernelOfThatNameAndOtherFunctionsAreNone) {
  EXPECT_THAT(named_drafts(file_of(head + "@triton.jit\ndef sigmoid(x):\n    return x\n"), 0), IsEmpty());
  EXPECT_THAT(named_drafts(file_of(head + "def attention(x):\n    return x\n"), 0), IsEmpty());
}

TEST(NamedDrafts, AFileWithoutKernelsGivesNone) {
  EXPECT_THAT(named_drafts(file_of("def sigmoid(x):\n    return x\n"), 0), IsEmpty());
}

TEST(NamedDrafts, AFileThatNeedsItsPackageGivesAReasonAndNoKernel) {
  const std::string function = "def sigmoid(x):\n    kernel[(1,)](x, 1)\n    return x\n";
  for (const auto& [more, why] : {std::pair{"from pack.runtime import device\n", "it imports pack"},
                                  std::pair{"from .. import device\n", "it imports from its own package"},
                                  std::pair{"SIZE = LIMIT\n", "nothing defines LIMIT"}}) {
    auto drafts = named_drafts(file_of(head + more + function), 0);
    ASSERT_EQ(drafts.size(), 1U);
    EXPECT_EQ(drafts[0].kernel, "");
    EXPECT_EQ(drafts[0].stage, "rewrite");
    EXPECT_THAT(drafts[0].reason, HasSubstr(why));
  }
}

TEST(ReadNamed, AChangedFileOfAFolderIsAnotherIdentity) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "named";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root);
  const NamedSources sources{.paths = {root.string()}, .families = {}, .licences = {"MIT"}, .seed = 0};
  const std::string text = "# SPDX-License-Identifier: MIT\n" + head + "def sigmoid(x):\n    return x\n";
  ASSERT_TRUE(write_file(root / "sigmoid.py", text));
  const auto first = read_named(sources);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->sources, std::vector<std::string>{"named"});
  EXPECT_EQ(read_named(sources)->identities, first->identities);
  ASSERT_TRUE(write_file(root / "sigmoid.py", text + "# changed\n"));
  EXPECT_NE(read_named(sources)->identities, first->identities);
}

TEST(ReferenceOf, CallsTheOperationOnInputsInItsDomain) {
  const std::string log = reference_of(*operation_of("log"), 0);
  EXPECT_THAT(log, HasSubstr("def log(x):\n    return torch.log(x)\n"));
  EXPECT_THAT(log, HasSubstr(") + 0.5]\n"));
  EXPECT_THAT(reference_of(*operation_of("silu"), 0), HasSubstr("return torch.nn.functional.silu(x)\n"));
  EXPECT_THAT(reference_of(*operation_of("softmax"), 0), HasSubstr("def softmax(x, dim):\n"));
  EXPECT_THAT(reference_of(*operation_of("special_xlog1py"), 0), HasSubstr("torch.special.xlog1py(x, y)"));
  EXPECT_FALSE(operation_of("attention").has_value());
}

TEST(ReferenceOf, WritesTheResultOfAnInPlaceOperationToItsInput) {
  EXPECT_THAT(reference_of(*operation_of("abs_"), 0), HasSubstr("def abs_(x):\n    return x.abs_()\n"));
  EXPECT_THAT(reference_of(*operation_of("hypot_"), 0),
              HasSubstr("def hypot_(x, y):\n    return x.hypot_(y)\n"));
  EXPECT_THAT(reference_of(*operation_of("gelu_"), 0),
              HasSubstr("return x.copy_(torch.nn.functional.gelu(x))\n"));
}

TEST(ReferenceOf, OtherOperationsHaveNoInPlaceForm) {
  EXPECT_FALSE(operation_of("softmax_").has_value());
  EXPECT_FALSE(operation_of("mm_").has_value());
  EXPECT_FALSE(operation_of("mse_loss_").has_value());
  EXPECT_FALSE(operation_of("maximum_").has_value());
  EXPECT_FALSE(operation_of("_").has_value());
}

TEST(ReferenceOf, DrawsTheValuesAtWhichAnOperationHasARuleOfItsOwn) {
  EXPECT_THAT(reference_of(*operation_of("xlogy"), 0),
              HasSubstr("    x.view(-1)[::3] = 0.0\n    y.view(-1)[::6] = 0.0\n    return [x, y]\n"));
  EXPECT_THAT(reference_of(*operation_of("special_xlog1py"), 0), HasSubstr("y.view(-1)[::6] = -1.0\n"));
  EXPECT_THAT(reference_of(*operation_of("log1p"), 0),
              HasSubstr("x.view(-1)[1::5] = -0.9999\n    return [x]\n"));
  EXPECT_THAT(reference_of(*operation_of("sqrt_"), 0),
              HasSubstr("    x.view(-1)[::5] = 0.0\n    return [x]\n"));
}

TEST(ReferenceOf, EqualSeedsGiveEqualTexts) {
  EXPECT_EQ(reference_of(*operation_of("abs"), 7), reference_of(*operation_of("abs"), 7));
  EXPECT_EQ(reference_of(*operation_of("abs"), 7).find("SHAPE"), std::string::npos);
}

}  // namespace
}  // namespace kw::synth
