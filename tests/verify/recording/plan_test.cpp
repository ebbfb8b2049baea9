// The predecessors of a step, and the steps for which the caller waits.
#include <gtest/gtest.h>

#include "world.h"

namespace kw::recording {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t caller = 0, side = 1, other = 2, blocking = 3;

// The caller's stream in another process: not the legacy default stream.
World with_own_stream() {
  World world;
  world.recording.streams[caller]->legacy_default = false;
  world.recording.streams[caller]->blocking = false;
  return world;
}

TEST(Plan, OfNothingIsEmpty) {
  Plan plan = World().planned();
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_FALSE(plan.open);
}

TEST(Plan, HasAStepForEachPieceOfWork) {
  World world;
  world.launch();
  world.record(caller, 1);
  world.host_waits(HostWaits::device);
  world.copy();
  Plan plan = world.planned();
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].operation, 0U);
  EXPECT_EQ(plan.steps[1].operation, 3U);
}

TEST(Plan, OfOneStreamIsAChain) {
  World world;
  world.launch();
  world.launch();
  Plan plan = world.planned();
  EXPECT_FALSE(plan.open);
  EXPECT_EQ(plan.unjoined, 0U);
  EXPECT_THAT(plan.steps[1].after, IsEmpty());  // its own stream implies it
}

TEST(Plan, FollowsAForkAndAJoin) {
  World world;
  world.launch(caller);
  world.record(caller, 1);
  world.wait(side, 1);
  world.launch(side);
  world.launch(caller);
  world.record(side, 2);
  world.wait(caller, 2);
  world.launch(caller);
  Plan plan = world.planned();
  EXPECT_THAT(plan.steps[1].after, ElementsAre(0));
  EXPECT_THAT(plan.steps[2].after, IsEmpty());
  EXPECT_THAT(plan.steps[3].after, ElementsAre(1));
  EXPECT_TRUE(plan.open);  // 1 and 2
  EXPECT_EQ(plan.unjoined, 0U);
}

TEST(Plan, OfAForkThatWaitsForAllIsAChain) {
  World world;
  world.launch(caller);
  world.record(caller, 1);
  world.wait(side, 1);
  world.launch(side);
  world.record(side, 2);
  world.wait(caller, 2);
  world.launch(caller);
  EXPECT_FALSE(world.planned().open);
}

TEST(Plan, SeesWorkThatIsNeverJoined) {
  World world;
  world.launch(caller);
  world.launch(side);
  Plan plan = world.planned();
  EXPECT_TRUE(plan.steps[0].joined);
  EXPECT_FALSE(plan.steps[1].joined);
  EXPECT_EQ(plan.unjoined, 1U);
  EXPECT_TRUE(plan.open);
}

TEST(Plan, SeesThatAnEventWasRecordedTooEarly) {
  World world;
  world.launch(side);
  world.record(side, 1);
  world.launch(side);
  world.wait(caller, 1);
  Plan plan = world.planned();
  EXPECT_TRUE(plan.steps[0].joined);
  EXPECT_FALSE(plan.steps[1].joined);
}

TEST(Plan, TakesAnEventAsItWasLastRecorded) {
  World world;
  world.launch(side);
  world.record(side, 1);
  world.launch(other);
  world.record(other, 1);
  world.wait(caller, 1);
  Plan plan = world.planned();
  EXPECT_FALSE(plan.steps[0].joined);
  EXPECT_TRUE(plan.steps[1].joined);
}

TEST(Plan, DoesNotWaitForALaterRecord) {
  World world;
  world.launch(side);
  world.wait(caller, 1);
  world.record(side, 1);
  world.launch(caller);
  EXPECT_THAT(world.planned().steps[1].after, IsEmpty());
}

TEST(Plan, JoinsThroughAnotherStream) {
  World world;
  world.launch(side);
  world.record(side, 1);
  world.wait(other, 1);
  world.record(other, 2);
  world.wait(caller, 2);
  EXPECT_EQ(world.planned().unjoined, 0U);
}

TEST(Plan, NamesOnlyTheLastOfWhatItWaitsFor) {
  World world;
  world.launch(side);
  world.record(side, 1);
  world.wait(other, 1);
  world.launch(other);
  world.record(other, 2);
  world.wait(caller, 1);
  world.wait(caller, 2);
  world.launch(caller);
  EXPECT_THAT(world.planned().steps[2].after, ElementsAre(1));
}

TEST(Plan, DoesNotNameTwiceWhatAStreamKnows) {
  World world;
  world.launch(side);
  world.record(side, 1);
  world.wait(caller, 1);
  world.launch(caller);
  world.wait(caller, 1);
  world.launch(caller);
  EXPECT_THAT(world.planned().steps[2].after, IsEmpty());
}

TEST(Plan, HasTheLegacyDefaultStreamWaitForBlockingOnes) {
  World world;
  world.launch(blocking);
  world.launch(side);
  world.launch(caller);
  EXPECT_THAT(world.planned().steps[2].after, ElementsAre(0));
}

TEST(Plan, HasBlockingStreamsWaitForTheLegacyDefaultStream) {
  World world;
  world.launch(caller);
  world.launch(blocking);
  world.launch(side);
  Plan plan = world.planned();
  EXPECT_THAT(plan.steps[1].after, ElementsAre(0));
  EXPECT_THAT(plan.steps[2].after, IsEmpty());
}

TEST(Plan, JoinsBlockingStreamsToTheLegacyDefaultStream) {
  World world;
  world.launch(blocking);
  EXPECT_EQ(world.planned().unjoined, 0U);
}

TEST(Plan, JoinsTheLegacyDefaultStreamToABlockingCaller) {
  World world;
  world.recording.streams[caller]->legacy_default = false;
  world.recording.streams[blocking]->legacy_default = true;
  world.launch(blocking);
  EXPECT_EQ(world.planned().unjoined, 0U);
}

TEST(Plan, DoesNotJoinBlockingStreamsToOneAnother) {
  World world;
  world.recording.streams[caller]->legacy_default = false;
  world.launch(blocking);
  EXPECT_EQ(world.planned().unjoined, 1U);
}

TEST(Plan, OfTheLegacyDefaultStreamDoesNotHoldForOthers) {
  World world = with_own_stream();
  world.launch(blocking);
  world.launch(caller);
  Plan plan = world.planned();
  EXPECT_THAT(plan.steps[1].after, IsEmpty());
  EXPECT_EQ(plan.unjoined, 1U);
}

TEST(Plan, PassesAWaitOfTheLegacyDefaultStreamOn) {
  World world;
  world.launch(side);
  world.record(side, 1);
  world.wait(caller, 1);
  world.launch(blocking);
  EXPECT_THAT(world.planned().steps[1].after, ElementsAre(0));
}

TEST(Plan, HasARecordInTheLegacyDefaultStreamSeeBlockingOnes) {
  World world;
  world.launch(blocking);
  world.record(caller, 1);
  world.wait(side, 1);
  world.launch(side);
  EXPECT_THAT(world.planned().steps[1].after, ElementsAre(0));
}

TEST(Plan, HasAWaitInTheLegacyDefaultStreamKeepBlockingOnesApart) {
  World world;
  world.recording.streams[other]->blocking = true;
  world.launch(blocking);
  world.wait(caller, 1);
  world.launch(other);
  EXPECT_THAT(world.planned().steps[1].after, ElementsAre(0));
}

TEST(Plan, PutsEverythingAfterAWaitForTheDevice) {
  World world;
  world.launch(side);
  world.launch(other);
  world.host_waits(HostWaits::device);
  world.launch(caller);
  Plan plan = world.planned();
  EXPECT_THAT(plan.steps[2].after, ElementsAre(0, 1));
  EXPECT_EQ(plan.unjoined, 0U);
}

TEST(Plan, JoinsWhatTheHostWaitedForAtTheEnd) {
  World world;
  world.launch(side);
  world.host_waits(HostWaits::stream, side);
  EXPECT_EQ(world.planned().unjoined, 0U);
}

TEST(Plan, DoesNotJoinWhatCameAfterTheHostWaited) {
  World world;
  world.launch(side);
  world.host_waits(HostWaits::device);
  world.launch(side);
  EXPECT_EQ(world.planned().unjoined, 1U);
}

TEST(Plan, WaitsForOneStreamOnlyWhereTheHostDoes) {
  World world;
  world.launch(side);
  world.launch(other);
  world.host_waits(HostWaits::stream, other);
  world.launch(caller);
  EXPECT_THAT(world.planned().steps[2].after, ElementsAre(1));
}

TEST(Plan, WaitsForWhatAnEventSawWhereTheHostDoes) {
  World world;
  world.launch(side);
  world.record(side, 5);
  world.launch(side);
  world.host_waits(HostWaits::event, caller, 5);
  world.launch(other);
  EXPECT_THAT(world.planned().steps[2].after, ElementsAre(0));
}

TEST(Plan, PassesOverAnEventThatWasNeverRecorded) {
  World world;
  world.wait(caller, 9);
  world.host_waits(HostWaits::event, caller, 9);
  world.launch(caller);
  EXPECT_THAT(world.planned().steps[0].after, IsEmpty());
}

// Two launches on each of two streams, which the caller waits for.
Plan two_by_two() {
  World world = with_own_stream();
  for (std::uint32_t stream : {side, side, other, other}) world.launch(stream);
  world.host_waits(HostWaits::device);
  return world.planned();
}

TEST(Exchanges, LeadFromTheRecordedOrderToTheLateOne) {
  const Plan plan = two_by_two();
  EXPECT_EQ(exchanges(plan, side), 4U);
  EXPECT_THAT(exchanged(plan, side, 0).order, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(exchanged(plan, side, 1).order, ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(exchanged(plan, side, 4).order, late(plan, side));
}

TEST(Exchanges, NameTheLastTwoStepsAsRecorded) {
  const Plan plan = two_by_two();
  EXPECT_EQ(exchanged(plan, side, 0).last, std::nullopt);
  EXPECT_EQ(exchanged(plan, side, 1).last, std::pair(std::size_t{1}, std::size_t{2}));
  EXPECT_EQ(exchanged(plan, side, 2).last, std::pair(std::size_t{0}, std::size_t{2}));
}

TEST(Exchanges, KeepTheOrderOfAStream) {
  const Plan plan = two_by_two();
  for (std::uint64_t count = 0; count <= exchanges(plan, side); ++count) {
    const auto order = exchanged(plan, side, count).order;
    EXPECT_LT(std::ranges::find(order, 0U), std::ranges::find(order, 1U));
    EXPECT_LT(std::ranges::find(order, 2U), std::ranges::find(order, 3U));
  }
}

TEST(Exchanges, StartWithUnjoinedStepsLast) {
  World world = with_own_stream();
  world.launch(side);
  world.launch(caller);
  EXPECT_THAT(exchanged(world.planned(), side, 0).order, ElementsAre(1, 0));
}

TEST(Exchanges, OfAChainAreNone) {
  World world;
  world.launch();
  world.launch();
  EXPECT_EQ(exchanges(world.planned(), caller), 0U);
}

}  // namespace
}  // namespace kw::recording
