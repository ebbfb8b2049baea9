// Candidates that launch the reference's library kernels, and add little or much of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "kernels_world.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;

std::optional<CountsReason> reason(Kernels reference, Kernels candidate) {
  KernelsWorld world(std::move(reference), std::move(candidate));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts, !verdict.counts_reason);
  return verdict.counts_reason;
}

TEST(Wrapping, AnOwnCopyBesideTheReferencesKernelsDoesNotCount) {
  EXPECT_EQ(reason({gemm(0.08)}, {gemm(0.08), own(0.01)}), CountsReason::wraps_reference);
  EXPECT_EQ(reason({gemm(0.08)}, {own(0.01), gemm(0.08)}), CountsReason::wraps_reference);
  EXPECT_EQ(reason({gemm(0.08)}, {own(0.2), gemm(0.08)}), CountsReason::wraps_reference);
}

TEST(Wrapping, AnOwnKernelForUnderFivePercentDoesNotCount) {
  EXPECT_EQ(reason({gemm(0.08), relu(0.003)}, {gemm(0.08), own(0.003)}), CountsReason::wraps_reference);
}

TEST(Wrapping, FusionOfMoreThanFivePercentCounts) {
  EXPECT_EQ(reason({gemm(0.08), relu(0.005)}, {gemm(0.08), own(0.004)}), std::nullopt);
  EXPECT_EQ(reason({gemm(0.08), relu(0.02), relu(0.02)}, {gemm(0.08), own(0.02)}), std::nullopt);
}

// Other library work of the candidate's replaces nothing of the reference's.
TEST(Wrapping, AnOwnKernelForTheMainWorkCountsWhateverElseItCalls) {
  EXPECT_EQ(reason({gemm(0.08), relu(0.01)}, {own(0.08), relu(0.01)}), std::nullopt);
  EXPECT_EQ(reason({gemm(0.08)}, {own(0.04), {"at6native_copy", "77", 0.09}}), std::nullopt);
}

TEST(Wrapping, APartOfTheReferencesKernelCounts) {
  EXPECT_EQ(reason({gemm(0.08)}, {gemm(0.04), own(0.05)}), std::nullopt);
  // Half of the blocks can take as long, where they do not fill the device.
  EXPECT_EQ(reason({gemm(0.08)}, {gemm(0.079, 50), own(0.05)}), std::nullopt);
}

TEST(Wrapping, TheReferencesKernelInTwoPartsDoesNotCount) {
  EXPECT_EQ(reason({gemm(0.08)}, {gemm(0.042, 50), gemm(0.042, 50), own(0.01)}),
            CountsReason::wraps_reference);
}

TEST(Wrapping, OfTwoLaunchesOfOneKernelTheLargeOneDecides) {
  EXPECT_EQ(reason({gemm(0.08), gemm(0.002, 2)}, {gemm(0.08), own(0.002)}), CountsReason::wraps_reference);
  EXPECT_EQ(reason({gemm(0.08), gemm(0.002, 2)}, {own(0.08), gemm(0.002, 2), {"at6native_copy", "77", 0.09}}),
            std::nullopt);
}

TEST(Wrapping, TheFindingNamesBothShares) {
  KernelsWorld world({gemm(0.0975), relu(0.0025)}, {gemm(0.0975), own(0.01)});
  EXPECT_TRUE(VerdictWorld::finds(world.run(),
                                  "library kernels take 97.5% of the reference's device time, and the "
                                  "reference's kernels that are left out take 2.5%"));
}

TEST(Wrapping, InOneRecordingDecides) {
  KernelsWorld world({gemm(0.08)}, {gemm(0.08), own(0.01)});
  world.load(2, {own(0.08), own(0.01)});
  EXPECT_EQ(world.run().counts_reason, CountsReason::wraps_reference);
}

TEST(Wrapping, BesideOwnKernelsThatNeedNoLibraryCounts) {
  KernelsWorld world({gemm(0.08)}, {own(0.1), gemm(0.08)});
  world.is_right_without({1});
  EXPECT_EQ(world.run().counts, true);
}

TEST(Wrapping, ADecoyIsNamedFirst) {
  KernelsWorld world({gemm(0.08)}, {gemm(0.08), own(0.01)});
  world.is_right_without({1});
  EXPECT_EQ(world.run().counts_reason, CountsReason::decoy);
}

// ---- what is not known is held against nobody

TEST(Wrapping, OfAReferenceThatIsNotReplayedIsNotKnown) {
  KernelsWorld world({gemm(0.08)}, {gemm(0.08), own(0.01)});
  world.fake.when("replayer", Body::LoadRecording, fails("record", "unsupported_candidate", "no"), 0);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(world.reference_timings, 0);
}

TEST(Wrapping, WithoutTimesIsNotKnown) {
  KernelsWorld world({gemm(0.08)}, {gemm(0.08), own(0.01)});
  world.settings.timing_trials = 0;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_FALSE(verdict.device_time_share);
}

// The driver's copies have no times of their own: a candidate that avoids them may save much.
TEST(Wrapping, WithFewerCopiesThanTheReferenceIsNotKnown) {
  KernelsWorld world({gemm(0.08)}, {gemm(0.08), own(0.01)});
  world.fake.when("replayer", Body::LoadRecording,
                  says<wire::ReplayableT>([](auto& facts) { ++facts.operations; }), 0);
  EXPECT_EQ(world.run().counts, true);
}

TEST(Wrapping, OfAReferenceWithMoreLaunchesThanAreListedIsNotKnown) {
  KernelsWorld world({gemm(0.08)}, {gemm(0.08), own(0.01)});
  world.fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([](auto& facts) {
                    ++facts.launch_count;
                    ++facts.operations;
                  }));
  EXPECT_EQ(world.run().counts, true);
}

React of_reference_alone(const KernelsWorld& world, React react) {
  return [&world, react](const wire::BodyUnion& asked, Reaction& usual) {
    if (world.of_reference && asked.AsReplay()->each_launch) react(asked, usual);
  };
}

TEST(Wrapping, OfAReferenceThatBreaksWhileItsLaunchesAreTimedIsNotKnown) {
  for (const React& breaks : {dies(SIGKILL), fails("replay", "infrastructure", "gone")}) {
    KernelsWorld world({gemm(0.08)}, {gemm(0.08), own(0.01)});
    world.fake.when("replayer", Body::Replay, of_reference_alone(world, breaks));
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.status, Status::correct);
    EXPECT_EQ(verdict.counts, true);
    EXPECT_TRUE(verdict.speedup);
    EXPECT_EQ(world.run().status, Status::correct);  // with a new replayer
  }
}

TEST(Wrapping, AStopWhileItIsLookedForIsNoVerdict) {
  KernelsWorld world({gemm(0.08)}, {gemm(0.08), own(0.01)});
  world.fake.when("replayer", Body::Replay, of_reference_alone(world, [&](const auto&, Reaction&) {
                    world.job_stop.request("the client left");
                  }));
  world.run();
  EXPECT_TRUE(world.stopped);
}

// Other work on the device delayed the library's kernel once.
TEST(Wrapping, IsMeasuredAgainBeforeItIsAFinding) {
  KernelsWorld world({gemm(0.08)}, {gemm(0.04), own(0.04)});
  world.fake.when("replayer", Body::Replay, [&](const wire::BodyUnion& asked, Reaction& usual) {
    if (!world.of_reference && asked.AsReplay()->each_launch && world.candidate_timings == 1)
      usual.answer.AsReplayed()->launch_ms = {0.09, 0.04};
  });
  EXPECT_EQ(world.run().counts, true);
  EXPECT_EQ(world.candidate_timings, 5);
}

// ---- cost

TEST(Wrapping, ACandidateWithoutTheReferencesKernelsCostsNoMeasurement) {
  KernelsWorld world({gemm(0.08)}, {own(0.08)});
  EXPECT_EQ(world.run().counts, true);
  EXPECT_EQ(world.reference_timings, 0);
  EXPECT_EQ(world.candidate_timings, 2);
}

TEST(Wrapping, TheReferencesLaunchesAreTimedOnceForAllCandidates) {
  KernelsWorld world({gemm(0.08), relu(0.02)}, {gemm(0.08), own(0.01)});
  world.load(3, world.candidate);
  world.load(4, world.candidate);
  EXPECT_EQ(world.run().counts, true);
  const int once = world.reference_timings;
  EXPECT_EQ(once, 3);
  EXPECT_EQ(world.run().counts, true);
  EXPECT_EQ(world.reference_timings, once);
}

// ---- shares

TEST(DeviceTimeShare, IsByOrigin) {
  KernelsWorld world({gemm(0.05), relu(0.05)},
                     {gemm(0.05), own(0.02), {"mine", "f", 0.02}, {"at6native_other", "77", 0.01}});
  builds_native_code(world);
  const Verdict verdict = world.run();
  ASSERT_TRUE(verdict.device_time_share);
  EXPECT_DOUBLE_EQ(verdict.device_time_share->triton, 0.2);
  EXPECT_DOUBLE_EQ(verdict.device_time_share->native, 0.2);
  EXPECT_DOUBLE_EQ(verdict.device_time_share->library, 0.6);
  EXPECT_DOUBLE_EQ(verdict.device_time_share->unattested, 0);
  EXPECT_DOUBLE_EQ(verdict.triton_share.value_or(-1), 0.2);
}

TEST(DeviceTimeShare, OfUnknownCodeIsUnattestedWhereNoNativeCodeWasBuilt) {
  KernelsWorld world({gemm(0.05)}, {own(0.06), {"mine", "f", 0.02}});
  const Verdict verdict = world.run();
  ASSERT_TRUE(verdict.device_time_share);
  EXPECT_DOUBLE_EQ(verdict.device_time_share->native, 0);
  EXPECT_DOUBLE_EQ(verdict.device_time_share->unattested, 0.25);
}

TEST(DeviceTimeShare, IsOfTheRecordingThatTheLaunchesShow) {
  KernelsWorld world({gemm(0.08)}, {own(0.08), own(0.01)});
  world.load(2, {gemm(0.08), own(0.01)});
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.launches->front().whose, "library");
  EXPECT_GT(verdict.device_time_share->library, 0.5);
}

}  // namespace
}  // namespace kw::verify
