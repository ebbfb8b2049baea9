// The audit of a right candidate: calls without the recorder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;

TEST(Audit, OfARightCandidateGivesTheSpeedUpOfWholeCalls) {
  VerdictWorld world;
  world.settings.audit = 1;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_DOUBLE_EQ(verdict.timing.call_speedup.value_or(0), 2);
  EXPECT_EQ(world.fake.count("plain runner", Body::TimeCandidate), 1);
}

TEST(Audit, OfACandidateThatIsRightOnlyUnderTheRecorderIsIncorrect) {
  VerdictWorld world;
  world.settings.audit = 1;
  world.fake.when("plain runner", Body::Call,
                  [&](const auto&, Reaction&) { world.fake.when("oracle", Body::Judge, judges_wrong()); });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(verdict.error, "without the recorder in its process: values differ");
  EXPECT_FALSE(verdict.speedup);
  EXPECT_EQ(verdict.timing.why_null, "the candidate is not right where it is not recorded");
}

TEST(Audit, MakesTheFurtherCallsThatAreAskedFor) {
  VerdictWorld world;
  world.settings.audit_calls = 30;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_GE(world.fake.count("plain runner", Body::Call), 32);
  EXPECT_EQ(verdict.judged_calls,
            6U + static_cast<std::size_t>(world.fake.count("plain runner", Body::Call)));
}

TEST(Audit, NamesTheFurtherCallThatIsWrong) {
  VerdictWorld world;
  world.settings.audit_calls = 30;
  world.fake.when(
      "plain runner", Body::Call,
      [&](const auto&, Reaction&) { world.fake.when("oracle", Body::Judge, judges_wrong()); }, 20);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(verdict.error, "without the recorder in its process: call 21: values differ");
  EXPECT_EQ(verdict.judged_calls, 6U + 21U);
}

TEST(Audit, WithoutAProcessForItIsOurs) {
  VerdictWorld world;
  world.settings.audit = 1;
  world.fake.when("plain runner", Body::Spawn, ends(Ending::closes));
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
}

TEST(Audit, ThatIsStoppedIsNoVerdict) {
  VerdictWorld world;
  world.settings.audit = 1;
  world.fake.when("plain runner", Body::Load, [&](const auto&, Reaction& usual) {
    usual.ending = Ending::hangs;
    world.job_stop.request("the client left");
  });
  world.run();
  EXPECT_TRUE(world.stopped);
}

TEST(Audit, WithoutTimingMakesNoClaim) {
  VerdictWorld world;
  world.settings.audit = 1;
  world.settings.timing_trials = 0;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(world.fake.count("plain runner", Body::TimeCandidate), 0);
  EXPECT_FALSE(verdict.timing.call_speedup);
}

TEST(Audit, WhoseTimesAreMissingMakesNoClaim) {
  VerdictWorld world;
  world.settings.audit = 1;
  world.fake.when("plain runner", Body::TimeCandidate, fails("time", "runtime_error", "no"));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_FALSE(verdict.timing.call_speedup);
}

}  // namespace
}  // namespace kw::verify
