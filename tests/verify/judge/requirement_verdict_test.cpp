// --require: kernels that a right result needs in order to count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels_world.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;

const Kernel native{"mine", "f", 0.05};

std::optional<CountsReason> reason(const std::string& require, Kernels candidate) {
  KernelsWorld world({gemm(0.08)}, std::move(candidate));
  world.settings.require = require;
  builds_native_code(world);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  return verdict.counts_reason;
}

TEST(Requirement, OwnTakesTritonAndNativeKernels) {
  EXPECT_EQ(Settings{}.require, "own");
  EXPECT_EQ(reason("own", {own(0.05)}), std::nullopt);
  EXPECT_EQ(reason("own", {native}), std::nullopt);
  EXPECT_EQ(reason("own", {gemm(0.08)}), CountsReason::library_only);
}

TEST(Requirement, TritonTakesNoNativeKernel) {
  EXPECT_EQ(reason("triton", {own(0.05)}), std::nullopt);
  EXPECT_EQ(reason("triton", {native, own(0.01)}), std::nullopt);
  EXPECT_EQ(reason("triton", {native}), CountsReason::not_triton);
  EXPECT_EQ(reason("triton", {gemm(0.08)}), CountsReason::library_only);
}

TEST(Requirement, AnyTakesALibrarysKernels) {
  EXPECT_EQ(reason("any", {gemm(0.08)}), std::nullopt);
  EXPECT_EQ(reason("any", {gemm(0.08), own(0.01)}), std::nullopt);
}

// The native kernel computes the result.
TEST(Requirement, OfTritonMakesADecoyOfALaunchThatIsNotNeeded) {
  for (const auto& [require, wanted] : {std::pair{"triton", std::optional(CountsReason::decoy)},
                                        std::pair{"own", std::optional<CountsReason>{}}}) {
    KernelsWorld world({gemm(0.08)}, {native, own(0.01)});
    world.settings.require = require;
    builds_native_code(world);
    world.is_right_without({1});
    EXPECT_EQ(world.run().counts_reason, wanted) << require;
  }
}

TEST(Requirement, OfTritonHoldsForEveryRecording) {
  KernelsWorld world({gemm(0.08)}, {native, own(0.01)});
  world.settings.require = "triton";
  builds_native_code(world);
  world.load(2, {native});
  EXPECT_EQ(world.run().counts_reason, CountsReason::not_triton);
}

TEST(Requirement, OfAnyStillNeedsATaskThatProvesSomething) {
  KernelsWorld world({gemm(0.08)}, {gemm(0.08)});
  world.settings.require = "any";
  world.fake.when("oracle", Body::Prepare,
                  says<wire::PreparedT>([](auto& task) { task.proves_nothing = "zeros pass"; }));
  EXPECT_EQ(world.run().counts_reason, CountsReason::proves_nothing);
}

// Its launches are claims of the candidate's process there.
TEST(Requirement, HoldsInProcessToo) {
  for (const auto& [require, wanted] : {std::pair{"triton", std::optional(CountsReason::not_triton)},
                                        std::pair{"own", std::optional<CountsReason>{}}}) {
    VerdictWorld world;
    world.settings.require = require;
    world.settings.replay = false;
    world.fake.when("runner", Body::Call, says<wire::ReturnedT>([](auto& call) {
                      call.native_code = true;
                      call.launches.clear();
                      call.launch_count = 0;
                    }));
    EXPECT_EQ(world.run().counts_reason, wanted) << require;
  }
}

TEST(Requirement, HoldsWithoutAGpuToo) {
  for (const auto& [require, wanted] : {std::pair{"triton", std::optional(CountsReason::library_only)},
                                        std::pair{"any", std::optional<CountsReason>{}}}) {
    VerdictWorld world(Device::cpu);
    world.settings.require = require;
    world.fake.when("runner", Body::Call, says<wire::ReturnedT>([](auto& call) {
                      call.launches.clear();
                      call.launch_count = 0;
                    }));
    EXPECT_EQ(world.run().counts_reason, wanted) << require;
  }
}

}  // namespace
}  // namespace kw::verify
