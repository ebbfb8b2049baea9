#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>

#include "dataset/pairs/pairs.h"
#include "world.h"

namespace kw::pairs {
namespace {

using corpus::Unit;
using corpus::UnitKind;
using test::Function;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

Unit cuda(const std::string& name, const std::string& text = "__expf(x) * rsqrtf(y)") {
  return test::unit_of(Function{.kind = UnitKind::cuda_kernel,
                                .name = name,
                                .parameters = {"input", "weight", "output", "eps"},
                                .text = text,
                                .path = "include/norm.cuh",
                                .launcher = {}});
}

Unit triton(const std::string& name, const std::string& text = "tl.exp(x) * tl.rsqrt(y)") {
  return test::unit_of(Function{.kind = UnitKind::triton,
                                .name = name,
                                .parameters = {"x_ptr", "w_ptr", "out_ptr", "eps", "BLOCK"},
                                .text = text,
                                .path = "kernels/norm.py",
                                .launcher = {}});
}

TEST(MatchCuda, OneFunctionInTwoLanguagesIsAPair) {
  auto matches = match_cuda({cuda("RMSNormKernel"), triton("_rms_norm_kernel")}, {});
  ASSERT_THAT(matches, SizeIs(1));
  EXPECT_EQ(matches[0].from, 0U);
  EXPECT_EQ(matches[0].to, 1U);
  EXPECT_GT(matches[0].evidence.confidence, 0.6);
  EXPECT_THAT(matches[0].evidence.reasons, Contains("name: norm rms"));
  EXPECT_THAT(matches[0].evidence.reasons, Contains(StartsWith("parameters: 4 of 4")));
  EXPECT_EQ(matches[0].evidence.other.path, "kernels/norm.py");
}

TEST(MatchCuda, ANameAloneIsNoPair) {
  Unit from = cuda("RMSNormKernel", "nothing");
  Unit to = triton("_rms_norm_kernel", "nothing");
  from.parameters.clear();
  from.source.path = "a.cu";
  EXPECT_THAT(match_cuda({from, to}, {.least_confidence = 0}), IsEmpty());
}

TEST(MatchCuda, ForwardAndBackwardAreNoPair) {
  EXPECT_THAT(match_cuda({cuda("rms_norm_bwd"), triton("rms_norm_fwd")}, {.least_confidence = 0}), IsEmpty());
}

TEST(MatchCuda, TheNearerNameWins) {
  auto matches =
      match_cuda({cuda("RMSNormKernel"), triton("rms_norm_quantize_kernel"), triton("rms_norm_kernel")}, {});
  ASSERT_THAT(matches, SizeIs(1));
  EXPECT_EQ(matches[0].to, 2U);
}

TEST(MatchCuda, EachUnitIsInOnePairAtMost) {
  std::vector<Unit> units = {cuda("rms_norm"), cuda("RMSNorm"), triton("rms_norm"), triton("rmsnorm_kernel")};
  auto matches = match_cuda(units, {});
  ASSERT_THAT(matches, SizeIs(2));
  EXPECT_NE(matches[0].from, matches[1].from);
  EXPECT_NE(matches[0].to, matches[1].to);
}

TEST(MatchCuda, TheOrderOfTheUnitsDoesNotMatter) {
  std::vector<Unit> units = {cuda("rms_norm"),         cuda("RMSNorm"), triton("rms_norm"),
                             triton("rmsnorm_kernel"), cuda("softmax"), triton("soft_max")};
  auto ids = [](const std::vector<Unit>& all) {
    std::vector<std::string> out;
    for (const Match& match : match_cuda(all, {})) out.push_back(all[match.from].id + all[match.to].id);
    return out;
  };
  auto first = ids(units);
  std::ranges::reverse(units);
  EXPECT_EQ(first, ids(units));
}

TEST(MatchCuda, DeviceFunctionsAreNotPaired) {
  Unit device = cuda("rms_norm");
  device.kind = UnitKind::cuda_device;
  EXPECT_THAT(match_cuda({device, triton("rms_norm")}, {.least_confidence = 0}), IsEmpty());
}

TEST(MatchCuda, AThousandOfEachAreQuick) {
  std::vector<Unit> units;
  for (int i = 0; i < 2'000; ++i) {
    std::string name = "op" + std::to_string(i % 700) + "_gemm_part" + std::to_string(i % 13);
    units.push_back(cuda(name));
    units.push_back(triton(name));
  }
  auto begin = std::chrono::steady_clock::now();
  EXPECT_GT(match_cuda(units, {}).size(), 700U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(MatchTorch, AReferenceAndTheKernelOfTheSameLauncherAreAPair) {
  Unit reference = test::unit_of(Function{.kind = UnitKind::torch,
                                          .name = "swiglu_reference",
                                          .parameters = {"x", "gate"},
                                          .text = "torch.sigmoid(gate) * gate * x",
                                          .path = "reference.py",
                                          .launcher = {}});
  Unit kernel = test::unit_of(Function{.kind = UnitKind::triton,
                                       .name = "_fwd_kernel",
                                       .parameters = {"x_ptr", "gate_ptr", "out_ptr"},
                                       .text = "tl.sigmoid(gate) * gate * x",
                                       .path = "kernels.py",
                                       .launcher = "swiglu"});
  EXPECT_THAT(match_torch({reference, kernel}, {}), SizeIs(1));
}

TEST(MatchTorch, TheLauncherIsNoReferenceOfItsOwnKernel) {
  Unit launcher = test::unit_of(Function{.kind = UnitKind::torch,
                                         .name = "swiglu",
                                         .parameters = {"x", "gate"},
                                         .text = "swiglu_kernel[grid](x, gate, sigmoid)",
                                         .path = "kernels.py",
                                         .launcher = {}});
  Unit kernel = test::unit_of(Function{.kind = UnitKind::triton,
                                       .name = "swiglu_kernel",
                                       .parameters = {"x", "gate"},
                                       .text = "tl.sigmoid(gate)",
                                       .path = "kernels.py",
                                       .launcher = "swiglu"});
  EXPECT_THAT(match_torch({launcher, kernel}, {.least_confidence = 0}), IsEmpty());
}

TEST(MatchTorch, AKernelThatNothingLaunchesIsNoRewrite) {
  Unit reference = test::unit_of(Function{.kind = UnitKind::torch,
                                          .name = "swiglu_reference",
                                          .parameters = {"x", "gate"},
                                          .text = "torch.sigmoid(gate) * gate * x",
                                          .path = "reference.py",
                                          .launcher = {}});
  Unit helper = triton("swiglu", "tl.sigmoid(gate)");
  EXPECT_THAT(match_torch({reference, helper}, {.least_confidence = 0}), IsEmpty());
}

TEST(MatchTorch, ALauncherOfSeveralKernelsLendsNoneItsName) {
  Unit reference = test::unit_of(Function{.kind = UnitKind::torch,
                                          .name = "swiglu_reference",
                                          .parameters = {"x", "gate"},
                                          .text = "torch.sigmoid(gate) * gate * x",
                                          .path = "reference.py",
                                          .launcher = {}});
  Unit first = triton("_first_step", "tl.sigmoid(gate)");
  Unit second = triton("_second_step", "tl.sigmoid(gate)");
  for (Unit* unit : {&first, &second})
    unit->launches.push_back({.caller = "swiglu", .caller_text = {}, .grid = {}, .arguments = {}});
  EXPECT_THAT(match_torch({reference, first}, {.least_confidence = 0.1}), SizeIs(1));
  EXPECT_THAT(match_torch({reference, first, second}, {.least_confidence = 0.1}), IsEmpty());
}

}  // namespace
}  // namespace kw::pairs
