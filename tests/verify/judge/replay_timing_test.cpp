// Times from replays: the number of samples, their processes, and the clock that limits them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;
using namespace test;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using wire::Body;

// The reaction to the nth timed single replay, from 0: reference and candidate alternate.
React nth_timed(int nth, React react) {
  auto seen = std::make_shared<int>(0);
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    const wire::ReplayT& how = *asked.AsReplay();
    if (how.timed && how.flush_l2 && (*seen)++ == nth) react(asked, usual);
  };
}

TEST(ReplayTiming, IsLeftOutWhereNoSamplesAreAskedFor) {
  VerdictWorld world;
  world.settings.timing_trials = 0;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_FALSE(verdict.speedup);
  EXPECT_EQ(verdict.timing.why_null, "the candidate was not timed");
}

TEST(ReplayTiming, EndsOnceTheSamplesAgree) {
  VerdictWorld world;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.timing.kernel_samples_ms.size(), 12U);
  EXPECT_EQ(verdict.timing.reference_samples_ms.size(), 12U);
  EXPECT_EQ(verdict.timing.floor_ms, 0.002);
}

TEST(ReplayTiming, OfMorePrecisionTakesTheMeanOfFourProcesses) {
  VerdictWorld world;
  world.settings.timing_trials = 100;
  world.settings.timing_precision = 0.001;
  world.fake.when("replayer", Body::Replay, each_takes(0.02));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(world.fake.count("replayer", Body::Spawn), 1 + 4);
  EXPECT_EQ(verdict.timing.kernel_samples_ms.size(), 48U);
}

TEST(ReplayTiming, OfMorePrecisionBesideOthersMakesDoWithLess) {
  VerdictWorld world;
  world.settings.timing_precision = 0.001;
  boost::asio::co_spawn(
      world.loop,
      [](VerdictWorld* in) -> async::Task<> {
        engine::Lease lease = co_await in->leases.share();
        co_await async::sleep_until(async::Deadline::in(1s));
      }(&world),
      boost::asio::detached);
  int turn = 0;
  world.fake.when("replayer", Body::Replay, replays([&](const auto&, wire::ReplayedT& facts) {
                    facts.device_ms = 1.0 * (1 + 0.001 * (++turn % 5));
                    facts.host_ms = facts.device_ms;
                  }));
  EXPECT_LE(world.run().timing.kernel_samples_ms.size(), 40U);
}

TEST(ReplayTiming, OfALongCallPrecisionTakesOneProcess) {
  VerdictWorld world;
  world.settings.timing_precision = 0.001;
  world.run();
  EXPECT_EQ(world.fake.count("replayer", Body::Spawn), 1 + 1);
}

struct Beside {
  const char* name;
  const char* role;
  Body message;
  int nth;
  React react;
  Status status;
};
class OneOfFour : public ::testing::TestWithParam<Beside> {};

TEST_P(OneOfFour, ThatBreaksEndsTheVerdict) {
  VerdictWorld world;
  world.settings.timing_precision = 0.001;
  world.fake.when("replayer", Body::Replay, each_takes(0.02));
  world.fake.when(GetParam().role, GetParam().message, GetParam().react, GetParam().nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, GetParam().status);
  EXPECT_EQ(world.fake.count("replayer", Body::Spawn), 1 + 2);
}

// Two checks of the reference, five replays of the candidate and one more, the first sample of each; then the
// second process.
INSTANTIATE_TEST_SUITE_P(
    ReplayTiming, OneOfFour,
    ::testing::Values(Beside{"NotStarted", "replayer", Body::Spawn, 2, ends(Ending::closes), Status::error},
                      Beside{"NotLoaded", "replayer", Body::LoadRecording, 3,
                             fails("replay", "infrastructure", "no"), Status::error},
                      Beside{"NotPlayed", "replayer", Body::Replay, 10,
                             fails("replay", "infrastructure", "no"), Status::error},
                      Beside{"Wrong", "oracle", Body::Judge, 16, judges_wrong(), Status::incorrect}),
    [](const auto& info) { return info.param.name; });

TEST(ReplayTiming, AKernelThatFaultsThenIsAtFault) {
  for (const char* error_class : {"illegal_memory_access", "runtime_error", "out_of_resources"}) {
    VerdictWorld world;
    world.fake.when("replayer", Body::Replay, nth_timed(5, fails("replay", error_class, "a fault")));
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.status, Status::failed);
    EXPECT_EQ(verdict.fault, Fault::kernel);
    EXPECT_EQ(to_string(verdict.error_class.value_or(ErrorClass::infrastructure)), error_class);
    EXPECT_EQ(verdict.error, "a replay that was right before broke while it was timed: a fault");
    EXPECT_EQ(verdict.timing.why_null, "a replay broke while it was timed");
  }
}

TEST(ReplayTiming, AKernelThatHangsThenIsAtFault) {
  VerdictWorld world;
  world.settings.timeout = 300ms;
  world.fake.when("replayer", Body::Replay, nth_timed(5, ends(Ending::hangs)));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::kernel);
  EXPECT_EQ(verdict.error_class, ErrorClass::timeout);
}

TEST(ReplayTiming, AFaultThenIsOursWhereTheDeviceNoLongerWorks) {
  struct Probe {
    Body message;
    int nth;
    React react;
  };
  for (const Probe& probe : {Probe{Body::Spawn, 2, ends(Ending::closes)},
                             Probe{Body::LoadRecording, 3, fails("replay", "infrastructure", "no device")}}) {
    VerdictWorld world;
    world.fake.when("replayer", Body::Replay, nth_timed(5, fails("replay", "runtime_error", "a fault")));
    world.fake.when("replayer", probe.message, probe.react, probe.nth);
    EXPECT_EQ(world.run().fault, Fault::infrastructure) << wire::EnumNameBody(probe.message);
  }
}

TEST(ReplayTiming, AReplayerThatBreaksThenIsOurs) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, nth_timed(5, fails("replay", "infrastructure", "a fault")));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_EQ(verdict.error, "a replay that was right before broke while it was timed: a fault");
  EXPECT_EQ(verdict.timing.why_null, "a replay broke while it was timed");
}

TEST(ReplayTiming, AJudgementThatIsMissingThenIsOurs) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, dies(SIGKILL), 16);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_THAT(verdict.error.value_or(""), StartsWith("the oracle was lost"));
}

TEST(ReplayTiming, AWrongResultThenIsIncorrect) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, judges_wrong(), 16);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_FALSE(verdict.speedup);
}

TEST(ReplayTiming, AStopThenIsNoVerdict) {
  for (int nth : {4, 5}) {  // the reference's turn, the candidate's
    VerdictWorld world;
    world.settings.timeout =
        300ms;  // a kept replayer of a reference obeys the stop of all, not that of a job
    world.fake.when("replayer", Body::Replay, nth_timed(nth, [&](const auto&, Reaction& usual) {
                      usual.ending = Ending::hangs;
                      world.job_stop.request("the client left");
                    }));
    world.run();
    EXPECT_TRUE(world.stopped);
  }
}

TEST(ReplayTiming, OfALongCallIsAloneOnTheDevice) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, each_takes(5));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.timing.kernel_samples_ms.size(), 12U);
  EXPECT_EQ(verdict.timing.kernel_samples_ms.front(), 5);
}

TEST(ReplayTiming, OfWildSamplesIsTakenAgainAloneOnTheDevice) {
  VerdictWorld world;
  int turn = 0;
  world.fake.when("replayer", Body::Replay, replays([&](const auto&, wire::ReplayedT& facts) {
                    facts.device_ms = ++turn % 3 == 0 ? 0.9 : 0.1;
                    facts.host_ms = facts.device_ms;
                  }));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.timing.kernel_samples_ms.size(), 40U);
  EXPECT_GT(world.fake.count("replayer", Body::Replay), 2 * (40 + 40));
}

TEST(ReplayTiming, ThatReadsNothingGivesNoSpeedUp) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, each_takes(0));
  const Verdict verdict = world.run();
  EXPECT_FALSE(verdict.speedup);
  EXPECT_EQ(verdict.timing.why_null, "the kernel's time read zero or less");
}

TEST(ReplayTiming, BelowTheLeastTrafficIsAFinding) {
  VerdictWorld world;
  world.context.environment.gpu = "NVIDIA H100 80GB HBM3";
  world.fake.spec.input_bytes = std::uint64_t{1} << 29;
  const Verdict verdict = world.run();
  EXPECT_GT(verdict.timing.roofline_share.value_or(0), 1);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "work was skipped, or inputs lay in the cache"));
}

TEST(ReplayTiming, WithinTheLeastTrafficHasAShare) {
  VerdictWorld world;
  world.context.environment.gpu = "NVIDIA H100 80GB HBM3";
  const Verdict verdict = world.run();
  EXPECT_LT(verdict.timing.roofline_share.value_or(2), 1);
  EXPECT_FALSE(VerdictWorld::finds(verdict, "work was skipped"));
}

TEST(ReplayTiming, AReferenceWithoutSamplesGivesNoSpeedUp) {
  VerdictWorld world;
  world.fake.when("runner", Body::Record, fails("record", "unsupported_candidate", "a graph"), 0);
  world.fake.when("oracle", Body::TimeReference,
                  says<wire::TimedT>([](auto& timed) { timed.samples_ms.clear(); }));
  EXPECT_EQ(world.run().timing.why_null, "no replay ended within the time for timing");
}

}  // namespace
}  // namespace kw::verify
