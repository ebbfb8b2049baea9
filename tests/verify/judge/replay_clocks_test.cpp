// Times from replays by clocks that device code cannot falsify: the host's, between marks or of the whole
// wait, and the supervisor's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;
using namespace test;
using ::testing::HasSubstr;
using wire::Body;

// ---- the host's clock

// The candidate's replays and those of its reference, which takes twice as long.
bool is_reference(const wire::ReplayT& how, const wire::ReplayedT& facts) {
  return facts.device_ms > 0.1 * how.repeats;
}

TEST(HostClock, ReplacesEventsThatMakeAKernelFaster) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, replays([](const auto& how, wire::ReplayedT& facts) {
                    if (!is_reference(how, facts)) facts.device_ms = 0.008 * how.repeats;
                  }));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_DOUBLE_EQ(verdict.kernel_time_ms.value_or(0), 0.08);
  EXPECT_DOUBLE_EQ(verdict.speedup.value_or(0), 2);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "clocks disagree: a replay of the kernel takes 0.0080 ms"));
}

TEST(HostClock, ReplacesEventsThatMakeAReferenceSlower) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, replays([](const auto& how, wire::ReplayedT& facts) {
                    if (is_reference(how, facts)) facts.device_ms *= 10;
                  }));
  const Verdict verdict = world.run();
  EXPECT_DOUBLE_EQ(verdict.reference_time_ms.value_or(0), 0.16);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "clocks disagree: a replay of the reference"));
}

TEST(HostClock, ThatWaitsForABusyHostChangesNothing) {
  VerdictWorld world;
  int turn = 0;
  world.fake.when("replayer", Body::Replay, replays([&](const auto&, wire::ReplayedT& facts) {
                    facts.host_ms += ++turn % 3 == 0 ? 0.004 : 0.3;
                  }));
  const Verdict verdict = world.run();
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clocks disagree: a replay"));
  EXPECT_DOUBLE_EQ(verdict.speedup.value_or(0), 2);
  EXPECT_EQ(verdict.timing.kernel_samples_ms.size(), 12U);
}

TEST(HostClock, ThatNeighboursDelayForLongCostsSamplesAndNoDrainedDevice) {
  VerdictWorld world;
  world.settings.timing_trials = 100;
  int turn = 0;
  world.fake.when("replayer", Body::Replay, replays([&](const auto&, wire::ReplayedT& facts) {
                    if (++turn < 60) facts.host_ms += 0.3;
                  }));
  const Verdict verdict = world.run();
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clocks disagree: a replay"));
  EXPECT_DOUBLE_EQ(verdict.speedup.value_or(0), 2);
  // After a drained device the samples would start anew.
  EXPECT_GT(verdict.timing.kernel_samples_ms.size(), 20U);
  EXPECT_LT(verdict.timing.kernel_samples_ms.size(), 100U);
}

TEST(HostClock, ThatDisagreesBesideNeighboursIsReadAgainAloneOnTheDevice) {
  VerdictWorld world;
  world.settings.timing_trials = 12;
  int turn = 0;
  world.fake.when("replayer", Body::Replay, replays([&](const auto&, wire::ReplayedT& facts) {
                    if (++turn < 40) facts.host_ms += 0.3;
                  }));
  const Verdict verdict = world.run();
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clocks disagree: a replay"));
  EXPECT_DOUBLE_EQ(verdict.speedup.value_or(0), 2);
  EXPECT_GT(world.fake.count("replayer", Body::Replay), 2 * (12 + 12));
}

// ---- the host's clock between marks

constexpr double marks_floor_ms = 0.003;

// Of the candidate's single replays: 0.02 ms by the events and by the host's clock, within its noise.
React marked_at(std::function<double(int turn)> marked_ms) {
  auto turn = std::make_shared<int>(0);
  return replays([=](const auto& how, wire::ReplayedT& facts) {
    if (is_reference(how, facts)) return;
    facts.device_ms = 0.02 * how.repeats;
    facts.host_ms = 0.028;
    facts.marked_floor_ms = marks_floor_ms;
    facts.marked_ms = marked_ms((*turn)++);
  });
}

TEST(Marks, ReplaceEventsThatMakeAKernelALittleFaster) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, marked_at([](int) { return 0.028 + marks_floor_ms; }));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_NEAR(verdict.kernel_time_ms.value_or(0), 0.028, 1e-9);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "takes 0.0200 ms by the device's events and 0.0280 ms by the"));
}

TEST(Marks, ThatAgreeChangeNothing) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, marked_at([](int) { return 0.0205 + marks_floor_ms; }));
  const Verdict verdict = world.run();
  EXPECT_DOUBLE_EQ(verdict.kernel_time_ms.value_or(0), 0.02);
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clocks disagree: a replay"));
}

// A call of milliseconds is timed alone on the device.
TEST(Marks, ThatComeLateNowAndThenHideNothingAlone) {
  VerdictWorld world;
  int turn = 0;
  world.fake.when("replayer", Body::Replay, replays([&](const auto& how, wire::ReplayedT& facts) {
                    if (is_reference(how, facts)) return;
                    facts.device_ms = 2.0 * how.repeats;
                    facts.host_ms = 2.25;
                    facts.marked_floor_ms = marks_floor_ms;
                    facts.marked_ms = ++turn % 6 == 5 ? 0.001 : 2.25 + marks_floor_ms;
                  }));
  const Verdict verdict = world.run();
  EXPECT_NEAR(verdict.kernel_time_ms.value_or(0), 2.25, 1e-9);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "clocks disagree: a replay of the kernel"));
}

TEST(Marks, AChangeOfProcessInAllSamplesSaysNothing) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, marked_at([](int) { return 0.16 + marks_floor_ms; }));
  EXPECT_FALSE(VerdictWorld::finds(world.run(), "clocks disagree: a replay"));
}

TEST(Marks, ThatAreFalsifiedLeaveTheWaitsTime) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, replays([](const auto& how, wire::ReplayedT& facts) {
                    if (is_reference(how, facts)) return;
                    facts.device_ms = 0.001 * how.repeats;
                    facts.host_ms = 0.025;
                    facts.marked_floor_ms = marks_floor_ms;
                    facts.marked_ms = 0.004 + marks_floor_ms;
                  }));
  EXPECT_NEAR(world.run().kernel_time_ms.value_or(0), 0.025, 1e-9);
}

TEST(Marks, OfWhichNeighboursDelayMostChangeNothing) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay,
                  marked_at([](int turn) { return (turn % 3 == 0 ? 0.0205 : 0.5) + marks_floor_ms; }));
  EXPECT_FALSE(VerdictWorld::finds(world.run(), "clocks disagree: a replay"));
}

TEST(Marks, ThatAreNotSeenLeaveTheWholeWait) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, marked_at([](int) { return -1; }));
  const Verdict verdict = world.run();
  EXPECT_DOUBLE_EQ(verdict.kernel_time_ms.value_or(0), 0.02);
}

TEST(Marks, ReplaceEventsThatMakeAReferenceSlower) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, replays([](const auto& how, wire::ReplayedT& facts) {
                    facts.marked_floor_ms = marks_floor_ms;
                    facts.marked_ms = facts.device_ms + marks_floor_ms;
                    if (!is_reference(how, facts)) return;
                    facts.device_ms = 2.3 * how.repeats;
                    facts.host_ms = 2.1;
                    facts.marked_ms = 2.0 + marks_floor_ms;
                  }));
  const Verdict verdict = world.run();
  EXPECT_NEAR(verdict.reference_time_ms.value_or(0), 2.0, 1e-9);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "clocks disagree: a replay of the reference"));
}

// The first mark of some samples comes late, which makes a reference's time shorter and a kernel's too.
TEST(Marks, ThatComeLateNowAndThenMakeNoReferenceFaster) {
  VerdictWorld world;
  int turn = 0;
  world.fake.when("replayer", Body::Replay, replays([&](const auto& how, wire::ReplayedT& facts) {
                    facts.device_ms = (is_reference(how, facts) ? 2.3 : 2.0) * how.repeats;
                    facts.host_ms = facts.device_ms;
                    facts.marked_floor_ms = marks_floor_ms;
                    facts.marked_ms = ++turn % 6 < 2 ? 0.3 : facts.device_ms + marks_floor_ms;
                  }));
  const Verdict verdict = world.run();
  EXPECT_NEAR(verdict.reference_time_ms.value_or(0), 2.3, 1e-9);
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clocks disagree: a replay"));
}

// The one sample of each side that is taken alone on the device is delayed, or its mark is late.
TEST(Marks, OfFewSamplesAreComparedOnMore) {
  VerdictWorld world;
  world.settings.timing_trials = 1;
  int turn = 0;
  world.fake.when("replayer", Body::Replay, replays([&](const auto& how, wire::ReplayedT& facts) {
                    const bool is_theirs = is_reference(how, facts);
                    facts.device_ms = (is_theirs ? 2.3 : 2.0) * how.repeats;
                    facts.host_ms = facts.device_ms;
                    if (!how.timed || how.repeats > 1) return;
                    const double late_ms = is_theirs ? -1.5 : 1.5;
                    facts.marked_floor_ms = marks_floor_ms;
                    facts.marked_ms = facts.device_ms + marks_floor_ms + (turn++ / 2 == 1 ? late_ms : 0);
                  }));
  const Verdict verdict = world.run();
  EXPECT_NEAR(verdict.reference_time_ms.value_or(0), 2.3, 1e-9);
  EXPECT_NEAR(verdict.kernel_time_ms.value_or(0), 2.0, 1e-9);
  EXPECT_EQ(verdict.timing.kernel_samples_ms.size(), 12U);
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clocks disagree: a replay"));
}

// Neighbours delayed an empty recording in this process, by more than the reference takes.
TEST(Marks, AndTheWaitAboveAFloorThatIsTooLargeMakeNoReferenceFaster) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, replays([](const auto& how, wire::ReplayedT& facts) {
                    if (!is_reference(how, facts)) return;
                    facts.device_ms = 0.016 * how.repeats;
                    facts.host_floor_ms = 0.03;
                    facts.host_ms = 0.02 - facts.host_floor_ms;
                    facts.marked_floor_ms = 0.03;
                    facts.marked_ms = 0.019;
                  }));
  const Verdict verdict = world.run();
  EXPECT_NEAR(verdict.reference_time_ms.value_or(0), 0.016, 1e-9);
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clocks disagree: a replay"));
}

// ---- the supervisor's clock

React batches(React react) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsReplay()->repeats > 1) react(asked, usual);
  };
}
React alone(React react) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    const wire::ReplayT& how = *asked.AsReplay();
    if (how.timed && !how.flush_l2 && how.repeats == 1) react(asked, usual);
  };
}

TEST(Clocks, ABatchThatTakesLongerOutsideIsAFinding) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, batches(waits(300ms)));
  const Verdict verdict = world.run();
  EXPECT_TRUE(VerdictWorld::finds(verdict, "clocks disagree: 250 calls in a row"));
  EXPECT_GT(verdict.kernel_time_ms.value_or(0), 1);
  EXPECT_LT(verdict.speedup.value_or(1), 0.2);
}

TEST(Clocks, ANeighbourThatDelaysOneBatchChangesNothing) {
  VerdictWorld world;
  auto seen = std::make_shared<int>(0);
  world.fake.when("replayer", Body::Replay, batches([=](const wire::BodyUnion& asked, Reaction& usual) {
                    if ((*seen)++ == 0) waits(300ms)(asked, usual);
                  }));
  const Verdict verdict = world.run();
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clocks disagree: "));
  EXPECT_DOUBLE_EQ(verdict.kernel_time_ms.value_or(0), 0.08);
}

TEST(Clocks, ThatAgreeAreNoFinding) {
  VerdictWorld world;
  EXPECT_FALSE(VerdictWorld::finds(world.run(), "clocks disagree: "));
}

TEST(Clocks, OfAVeryLongCallAreComparedOverOne) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, each_takes(600));
  const Verdict verdict = world.run();
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clocks disagree: "));
  EXPECT_EQ(verdict.status, Status::correct);
}

TEST(Clocks, AReplayThatBreaksWhileTheyAreComparedIsOurs) {
  for (const React& broken : {alone(dies(SIGKILL)), batches(dies(SIGKILL))}) {
    VerdictWorld world;
    world.fake.when("replayer", Body::Replay, broken);
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.fault, Fault::infrastructure);
    EXPECT_THAT(verdict.error.value_or(""), HasSubstr("broke while it was timed: the replayer was lost"));
  }
}

}  // namespace
}  // namespace kw::verify
