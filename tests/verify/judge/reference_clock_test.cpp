// The times of a reference that is timed by events of its own process, against the supervisor's clock.
#include "verify/judge/reference_clock.h"

#include <gtest/gtest.h>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace kw::test;
using testing::HasSubstr;
using wire::Body;

constexpr const char* contradicted = "a clock outside its process contradicts the reference's times";

// Its reference cannot be recorded. A call of it takes 0.16 ms in the oracle.
struct EventWorld : VerdictWorld {
  EventWorld() { fake.when("runner", Body::Record, fails("record", "runtime_error", "no recording"), 0); }

  // A call claims this time, and a request to sample takes so much longer.
  void claims(double ms, std::chrono::milliseconds longer = {}) {
    fake.when("oracle", Body::TimeReference, [=, this](const wire::BodyUnion& asked, Reaction& usual) {
      for (double& each : usual.answer.AsTimed()->samples_ms) each = ms;
      if (asked.AsTimeReference()->flush_l2) {
        usual.delay += longer;
        ++samplings;
      }
    });
  }

  int samplings = 0;
};

TEST(ReferencesEvents, AreBelievedWhereTheClocksAgree) {
  EventWorld world;
  const Verdict verdict = world.run();
  EXPECT_THAT(verdict.timing.instrument.value_or(""), HasSubstr("reference by cuda-events"));
  EXPECT_TRUE(verdict.speedup.has_value());
  EXPECT_FALSE(VerdictWorld::finds(verdict, "clock"));
}

TEST(ReferencesEvents, CannotClaimMoreThanTheirRequestTook) {
  EventWorld world;
  world.claims(1000);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.speedup, std::nullopt);
  EXPECT_EQ(verdict.timing.why_null, contradicted);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "the reference's times are false"));
}

TEST(ReferencesEvents, CannotClaimMoreThanCallsInARowTake) {
  EventWorld world;
  world.settings.timing_trials = 20;
  world.claims(5, std::chrono::milliseconds(120));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.speedup, std::nullopt);
  EXPECT_EQ(verdict.timing.why_null, contradicted);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "clocks disagree: by the events of its own process"));
}

TEST(ReferencesEvents, AreTakenAgainAloneOnTheDeviceBeforeTheyAreRefuted) {
  EventWorld world;
  world.claims(1000);
  world.run();
  EXPECT_EQ(world.samplings, 2);
}

TEST(ReferencesEvents, ThatAreRightAloneOnTheDeviceAreBelieved) {
  EventWorld world;
  world.fake.when("oracle", Body::TimeReference,
                  says<wire::TimedT>([](auto& timed) { timed.samples_ms.assign(1, 1e6); }), 0);
  const Verdict verdict = world.run();
  EXPECT_TRUE(verdict.speedup.has_value());
  EXPECT_FALSE(VerdictWorld::finds(verdict, "the reference's times are false"));
}

TEST(ReferencesEvents, AreBoundBesideACandidateInItsProcessToo) {
  EventWorld world;
  world.fake.when("runner", Body::Record,
                  says<wire::RecordedT>([](auto& recorded) { recorded.outputs->tensor->device = "cpu"; }), 2);
  world.claims(1000);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.trust, Trust::in_process);
  EXPECT_EQ(verdict.timing.why_null, contradicted);
  EXPECT_EQ(speedup_trusted(verdict, Trust::in_process), std::nullopt);
}

TEST(ToleratedClaim, AllowsForNoiseAndAColdCache) {
  EXPECT_NEAR(tolerated_claim_ms(1.0, 100, 0), 1.29, 1e-9);
  EXPECT_NEAR(tolerated_claim_ms(1.0, 100, 5'000'000), 1.30, 1e-9);
  EXPECT_NEAR(tolerated_claim_ms(1.0, 100, std::uint64_t{1} << 40), 1.39, 1e-9);
}

}  // namespace
}  // namespace kw::verify
