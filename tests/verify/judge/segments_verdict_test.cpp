// Times of the forward and the backward pass in verdicts on gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using testing::DoubleNear;
using testing::HasSubstr;
using wire::Body;

constexpr double equal_ms = 1e-9;

// A job whose gradients are judged by replay. The reference takes twice as long in each pass.
struct SegmentsWorld : VerdictWorld {
  SegmentsWorld() {
    settings.backward = true;
    settings.varied_inputs = false;
    fake.when("oracle", Body::Prepare,
              says<wire::PreparedT>([](auto& prepared) { prepared.gradients = {"gradient of input x"}; }));
    fake.when("replayer", Body::Replay, [this](const wire::BodyUnion& asked, Reaction&) {
      const wire::ReplayT& how = *asked.AsReplay();
      if (how.split) ++split;
      if (how.split) slots.push_back(how.slot);
      if (how.timed && how.flush_l2 && !how.split) ++whole;
      if (!how.split && split > 0) ++whole_after_split;
    });
  }

  int split = 0;
  int whole = 0;
  int whole_after_split = 0;
  std::vector<std::uint32_t> slots;
};

TEST(Segments, AreThoseOfBothPasses) {
  SegmentsWorld world;
  const Verdict verdict = world.run();
  ASSERT_TRUE(verdict.timing.segments) << verdict.timing.segments_why_null.value_or("");
  const Segments& segments = *verdict.timing.segments;
  EXPECT_THAT(segments.forward.kernel_time_ms, DoubleNear(0.03, equal_ms));
  EXPECT_THAT(segments.forward.reference_time_ms, DoubleNear(0.06, equal_ms));
  EXPECT_THAT(segments.forward.speedup.value_or(0), DoubleNear(2, equal_ms));
  EXPECT_THAT(segments.backward.kernel_time_ms, DoubleNear(0.05, equal_ms));
  EXPECT_THAT(segments.backward.reference_time_ms, DoubleNear(0.1, equal_ms));
  EXPECT_FALSE(verdict.timing.segments_why_null);
}

// As a device's clock reads them: each pass is less the floor of 2 us of its own two events, and the event
// between the passes takes 3 us.
TEST(Segments, AddUpToTheTimeOfTheWhole) {
  SegmentsWorld world;
  world.fake.when("replayer", Body::Replay, says<wire::ReplayedT>([](auto& facts) {
                    if (facts.forward_ms == 0) return;
                    facts.forward_ms += 0.001;
                    facts.backward_ms += 0.002 - facts.floor_ms;
                    facts.device_ms += 0.003;
                  }));
  const Verdict verdict = world.run();
  ASSERT_TRUE(verdict.timing.segments);
  const auto& [forward, backward] = *verdict.timing.segments;
  EXPECT_THAT(forward.kernel_time_ms + backward.kernel_time_ms,
              DoubleNear(verdict.kernel_time_ms.value_or(0), equal_ms));
  EXPECT_THAT(forward.reference_time_ms + backward.reference_time_ms,
              DoubleNear(verdict.reference_time_ms.value_or(0), equal_ms));
  EXPECT_GT(forward.kernel_time_ms, 0);
  EXPECT_GT(backward.kernel_time_ms, forward.kernel_time_ms);
}

// The samples of the whole call are those of a verdict without segments.
TEST(Segments, LeaveTheTimeOfTheWholeAsItIs) {
  SegmentsWorld world;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.timing.kernel_samples_ms.size(), 12U);
  EXPECT_THAT(verdict.kernel_time_ms.value_or(0), DoubleNear(0.08, equal_ms));
  EXPECT_THAT(verdict.speedup.value_or(0), DoubleNear(2, equal_ms));
  EXPECT_EQ(world.split, 2 * 12);
}

TEST(Segments, TakeAllRecordingsInTurns) {
  SegmentsWorld world;
  world.run();
  EXPECT_THAT(world.slots, testing::Contains(1U).Times(6));
}

TEST(Segments, OfOutputsAloneAreNone) {
  SegmentsWorld world;
  world.settings.backward = false;
  world.fake.when("oracle", Body::Prepare,
                  says<wire::PreparedT>([](auto& prepared) { prepared.gradients.clear(); }));
  const Verdict verdict = world.run();
  EXPECT_TRUE(verdict.speedup);
  EXPECT_FALSE(verdict.timing.segments);
  EXPECT_FALSE(verdict.timing.segments_why_null);
  EXPECT_EQ(world.split, 0);
}

TEST(Segments, WithoutTimesAreNone) {
  SegmentsWorld world;
  world.settings.timing_trials = 0;
  const Verdict verdict = world.run();
  EXPECT_FALSE(verdict.timing.segments);
  EXPECT_EQ(world.split, 0);
}

struct Unsplit {
  const char* name;
  bool of_reference;
  const char* words;
};
class NoSegments : public testing::TestWithParam<Unsplit> {};

TEST_P(NoSegments, WhereARecordingHasNoneTheReasonIsGiven) {
  SegmentsWorld world;
  world.fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([](auto& facts) {
                    const bool is_reference = facts.launches.at(0)->name != "add";
                    if (is_reference == GetParam().of_reference) facts.not_split = "work is still open";
                  }));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_TRUE(verdict.speedup);
  EXPECT_FALSE(verdict.timing.segments);
  EXPECT_THAT(verdict.timing.segments_why_null.value_or(""), HasSubstr(GetParam().words));
  EXPECT_EQ(world.split, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Of, NoSegments,
    testing::Values(Unsplit{"Kernel", false, "the passes of the kernel cannot be told apart: work is still"},
                    Unsplit{"Reference", true, "the passes of the reference cannot be told apart: work is"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Segments, OfAReferenceThatCannotBeReplayedAreNone) {
  SegmentsWorld world;
  world.fake.when("runner", Body::Record, fails("record", "unsupported_candidate", "no cubin"), 0);
  const Verdict verdict = world.run();
  if (verdict.trust != Trust::replay) GTEST_SKIP() << "the first recording is the candidate's";
  EXPECT_THAT(verdict.timing.segments_why_null.value_or(""), HasSubstr("the reference cannot be replayed"));
}

// Their results are judged as those of other timed replays.
TEST(Segments, OfAWrongResultEndTheVerdict) {
  SegmentsWorld world;
  auto split = std::make_shared<bool>(false);
  world.fake.when("replayer", Body::Replay,
                  [split](const wire::BodyUnion& asked, Reaction&) { *split = asked.AsReplay()->split; });
  world.fake.when("oracle", Body::Judge, [split](const wire::BodyUnion& asked, Reaction& usual) {
    if (*split) judges_wrong()(asked, usual);
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_FALSE(verdict.timing.segments);
  EXPECT_FALSE(verdict.speedup);
}

TEST(Segments, WhoseReferenceBreaksAreNone) {
  SegmentsWorld world;
  auto first = std::make_shared<bool>(true);
  world.fake.when("replayer", Body::Replay, [first](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsReplay()->split && std::exchange(*first, false))
      fails("replay", "infrastructure", "no events can be made")(asked, usual);
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_TRUE(verdict.speedup);
  EXPECT_FALSE(verdict.timing.segments);
  EXPECT_THAT(verdict.timing.segments_why_null.value_or(""), HasSubstr("the reference's replay failed"));
}

TEST(Segments, OfAPassWithoutWorkHaveNoSpeedup) {
  SegmentsWorld world;
  world.fake.when("replayer", Body::Replay, says<wire::ReplayedT>([](auto& facts) { facts.forward_ms = 0; }));
  const Verdict verdict = world.run();
  ASSERT_TRUE(verdict.timing.segments);
  EXPECT_EQ(verdict.timing.segments->forward.kernel_time_ms, 0);
  EXPECT_FALSE(verdict.timing.segments->forward.speedup);
  EXPECT_TRUE(verdict.timing.segments->backward.speedup);
}

}  // namespace
}  // namespace kw::verify
