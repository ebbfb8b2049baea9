// Verdicts on candidates that cannot be replayed: the candidate's process reports its time, and a clock
// outside limits it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;
using namespace test;
using wire::Body;

struct InProcessWorld : VerdictWorld {
  InProcessWorld() {
    settings.replay = false;
    context.why_no_replay = "this build has no recorder";
  }
};

using CallChange = std::function<void(const wire::CallT& how, wire::ReturnedT& answer)>;
React calls(CallChange change) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    if (usual.answer.type == Body::Returned) change(*asked.AsCall(), *usual.answer.AsReturned());
  };
}
React skipping(React react) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsCall()->effect == wire::Effect::skipped) react(asked, usual);
  };
}
React timed(React react) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsCall()->timed) react(asked, usual);
  };
}

TEST(InProcess, ARightCandidateIsTimedByItsOwnEvents) {
  InProcessWorld world;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.trust, Trust::in_process);
  EXPECT_EQ(verdict.timing.instrument, "cuda-events");
  EXPECT_EQ(verdict.timing.kernel_samples_ms.size(), 40U);
  EXPECT_FALSE(verdict.speedup);
  EXPECT_DOUBLE_EQ(speedup_trusted(verdict, Trust::in_process).value_or(0), 2);
  EXPECT_FALSE(speedup_trusted(verdict, Trust::replay));
  EXPECT_EQ(verdict.replay->why_not, "this build has no recorder");
}

TEST(InProcess, ALostReplayerIsTheReasonWhereTheMachineHasOne) {
  InProcessWorld world;
  world.context.why_no_replay.clear();
  EXPECT_EQ(world.run().replay->why_not, "the replayer was lost");
}

TEST(InProcess, IsNotTimedWhereNoSamplesAreAskedFor) {
  InProcessWorld world;
  world.settings.timing_trials = 0;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_FALSE(verdict.timing.instrument);
}

TEST(InProcess, AWrongCallIsIncorrect) {
  // First calls, the earlier result, later calls, and timed ones.
  for (int nth : {0, 1, 2, 3, 5, 7, 9, 10, 15}) {
    InProcessWorld world;
    world.fake.when("oracle", Body::Judge, judges_wrong(), nth);
    EXPECT_EQ(world.run().status, nth == 6 ? Status::correct : Status::incorrect) << nth;
  }
}

TEST(InProcess, RightWithoutItsLaunchesDoesNotCount) {
  InProcessWorld world;
  world.fake.when("oracle", Body::Judge, says<wire::JudgedT>([](auto& judged) { judged.right = true; }), 6);
  EXPECT_EQ(world.run().counts_reason, CountsReason::decoy);
}

TEST(InProcess, RightWithoutItsLaunchesWhereZerosAreRightIsNoDecoy) {
  InProcessWorld world;
  world.fake.zeros_are_right = true;
  world.fake.when("oracle", Body::Judge, says<wire::JudgedT>([](auto& judged) { judged.right = true; }));
  EXPECT_EQ(world.run().counts, true);
}

TEST(InProcess, NothingReturnedWithoutItsLaunchesIsNoDecoy) {
  InProcessWorld world;
  world.fake.when("runner", Body::Call,
                  skipping(says<wire::ReturnedT>([](auto& answer) { answer.outputs.reset(); })));
  EXPECT_EQ(world.run().counts, true);
}

TEST(InProcess, AFaultWithoutItsLaunchesSaysNothing) {
  InProcessWorld world;
  world.fake.when("runner", Body::Call, skipping(dies(SIGSEGV)));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(world.fake.count("runner", Body::Load), 2);
}

TEST(InProcess, AStopWithoutItsLaunchesIsNoVerdict) {
  InProcessWorld world;
  world.fake.when("runner", Body::Call, skipping([&](const auto&, Reaction& usual) {
                    usual.ending = Ending::hangs;
                    world.job_stop.request("the client left");
                  }));
  world.run();
  EXPECT_TRUE(world.stopped);
}

TEST(InProcess, WithoutLaunchesDoesNotCount) {
  InProcessWorld world;
  world.fake.when("runner", Body::Call, calls([](const auto&, wire::ReturnedT& answer) {
                    answer.launches.clear();
                    answer.launch_count = 0;
                  }));
  EXPECT_EQ(world.run().counts_reason, CountsReason::library_only);
}

TEST(InProcess, NativeCodeCounts) {
  InProcessWorld world;
  world.fake.when("runner", Body::Call, calls([](const auto&, wire::ReturnedT& answer) {
                    answer.launches.clear();
                    answer.launch_count = 0;
                    answer.native_code = true;
                  }));
  EXPECT_EQ(world.run().counts, true);
}

TEST(InProcess, NoClaimNoTime) {
  InProcessWorld world;
  world.fake.when("runner", Body::Call,
                  calls([](const auto&, wire::ReturnedT& answer) { answer.device_ms = -1; }));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.timing.why_null, "no call ended within the time for timing");
}

TEST(InProcess, AClaimFarBelowTheOutsideClockIsRaised) {
  InProcessWorld world;
  world.settings.timing_trials = 10;
  world.fake.when("runner", Body::Call, waits(25ms));
  const Verdict verdict = world.run();
  EXPECT_TRUE(VerdictWorld::finds(verdict, "the claim is raised to half of that"));
  EXPECT_GE(verdict.kernel_time_ms.value_or(0), 10);
}

TEST(InProcess, UnsettledSamplesAreTakenUntilThereAreEnough) {
  InProcessWorld world;
  world.settings.timing_trials = 60;
  int turn = 0;
  world.fake.when("runner", Body::Call, calls([&](const auto&, wire::ReturnedT& answer) {
                    answer.device_ms = 1.0 + (++turn % 7);
                  }));
  EXPECT_EQ(world.run().timing.kernel_samples_ms.size(), 60U);
}

TEST(InProcess, AReferenceThatCannotBeTimedIsTheTasks) {
  InProcessWorld world;
  world.fake.when("oracle", Body::TimeReference, fails("time", "runtime_error", "it raised"));
  EXPECT_EQ(world.run().fault, Fault::task);
}

TEST(InProcess, ACandidateThatDiesWhileItIsTimedIsBlamed) {
  InProcessWorld world;
  world.fake.when("runner", Body::Call, timed(dies(SIGSEGV, true)));
  EXPECT_EQ(world.run().error_class, ErrorClass::illegal_memory_access);
}

TEST(InProcess, InputsThatCannotBeDrawnWhileItIsTimedAreNotTheCandidates) {
  // Durations of the calls that a clock outside limits, and of the timed ones.
  for (int nth : {6, 9}) {
    InProcessWorld world;
    world.fake.when("oracle", Body::Draw, fails("prepare", "infrastructure", "no memory"), nth);
    EXPECT_EQ(world.run().fault, Fault::infrastructure) << nth;
  }
}

TEST(InProcess, ACandidateThatDiesUnderTheOutsideClockIsBlamed) {
  InProcessWorld world;
  world.fake.when("runner", Body::Call, dies(SIGKILL), 7);
  EXPECT_EQ(world.run().error_class, ErrorClass::process_died);
}

}  // namespace
}  // namespace kw::verify
