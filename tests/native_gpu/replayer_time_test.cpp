// Timed replays, on the fake device's clock.
#include <gtest/gtest.h>

#include "replayer_world.h"

namespace kw::replayer {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

constexpr double near_ms = 1e-3;

// Three launches of 1, 2 and 4 ms.
void make_three(ReplayWorld& world) {
  world.driver.kernels["add"].ms = 2;
  world.driver.kernels["times"].ms = 4;
  world.launch("set", heap, 1);
  world.launch("add", heap, 1);
  world.launch("times", heap, 1);
  world.loaded();
}

TEST(ReplayTime, TheFirstReplayIsNeverBehindTheGate) {
  ReplayWorld world;
  make_three(world);
  EXPECT_FALSE(world.replayed(timed()).gated);
  EXPECT_TRUE(world.replayed(timed()).gated);
}

TEST(ReplayTime, EverythingIsEnqueuedBeforeTheGateOpens) {
  ReplayWorld world;
  make_three(world);
  world.replayed();
  world.driver.enqueued_behind_gate = 0;
  world.replayed(timed());
  EXPECT_EQ(world.driver.enqueued_behind_gate, 7U);  // two events and two marks around three launches
}

TEST(ReplayTime, ItIsTheSumOfALaunchsTimes) {
  ReplayWorld world;
  make_three(world);
  world.replayed();
  EXPECT_THAT(world.replayed(timed()).device_ms, DoubleNear(7, near_ms));
  EXPECT_THAT(world.replayed(timed(3)).device_ms, DoubleNear(21, near_ms));
}

TEST(ReplayTime, AnUntimedReplayHasNoGate) {
  ReplayWorld world;
  make_three(world);
  world.replayed();
  EXPECT_FALSE(world.replayed().gated);
}

TEST(ReplayTime, SideStreamsWaitForTheGateToo) {
  ReplayWorld world;
  world.launch("set", heap, 1, 1);
  world.world.host_waits(recording::HostWaits::device);
  world.loaded();
  world.replayed();
  EXPECT_THAT(world.replayed(timed()).device_ms, DoubleNear(1, near_ms));
}

TEST(ReplayTime, TheGateOpensBeforeAQueueCanFillUp) {
  ReplayWorld world;
  for (std::uint32_t i = 0; i < 600; ++i) world.launch("add", heap, 1);
  world.loaded();
  world.replayed();
  world.driver.enqueued_behind_gate = 0;
  EXPECT_FALSE(world.replayed(timed()).gated);
  EXPECT_LE(world.driver.enqueued_behind_gate, max_behind_gate);
}

TEST(ReplayTime, EachLaunchHasItsOwnInRecordedOrder) {
  ReplayWorld world;
  make_three(world);
  world.replayed();
  wire::ReplayT each;
  each.each_launch = true;
  auto reply = world.replayed(each);
  EXPECT_THAT(reply.launch_ms,
              ElementsAre(DoubleNear(1, near_ms), DoubleNear(2, near_ms), DoubleNear(4, near_ms)));
  EXPECT_THAT(reply.device_ms, DoubleNear(7, near_ms));
}

TEST(ReplayTime, ManyLaunchesAreTimedPartByPart) {
  ReplayWorld world;
  for (std::uint32_t i = 0; i < 600; ++i) world.launch("add", heap, 1);
  world.add_output(heap);
  world.loaded();
  world.poison(0);
  wire::ReplayT each;
  each.each_launch = true;
  world.replayed();
  world.poison(0);
  auto reply = world.replayed(each);
  EXPECT_EQ(reply.launch_ms.size(), 600U);
  EXPECT_THAT(reply.launch_ms, testing::Each(DoubleNear(1, near_ms)));
  EXPECT_EQ(world.output(), 600U);
}

TEST(ReplayTime, ALaunchLeftOutHasNone) {
  ReplayWorld world;
  make_three(world);
  wire::ReplayT each;
  each.each_launch = true;
  each.skip = {1};
  EXPECT_THAT(world.replayed(each).launch_ms,
              ElementsAre(DoubleNear(1, near_ms), -1, DoubleNear(4, near_ms)));
}

TEST(ReplayTime, FlushingTheCacheIsNotTimed) {
  ReplayWorld world;
  make_three(world);
  world.replayed();
  auto request = timed();
  request.flush_l2 = true;
  EXPECT_THAT(world.replayed(request).device_ms, DoubleNear(7, near_ms));
}

wire::ReplayT split() {
  auto request = timed();
  request.split = true;
  return request;
}

// Three launches of 1, 2 and 4 ms, the last one of the backward pass.
void make_marked(ReplayWorld& world) {
  world.world.recording.markers = {2};
  make_three(world);
  world.replayed();
}

TEST(SplitReplay, TimesBothPasses) {
  ReplayWorld world;
  make_marked(world);
  const auto reply = world.replayed(split());
  EXPECT_THAT(reply.forward_ms, DoubleNear(3, near_ms));
  EXPECT_THAT(reply.backward_ms, DoubleNear(4, near_ms));
  EXPECT_THAT(reply.device_ms, DoubleNear(7, near_ms));
}

TEST(SplitReplay, IsAnotherOneThanThatOfTheWhole) {
  ReplayWorld world;
  make_marked(world);
  world.driver.enqueued_behind_gate = 0;
  const auto reply = world.replayed(timed());
  EXPECT_EQ(world.driver.enqueued_behind_gate, 7U);  // two events and two marks around three launches
  EXPECT_EQ(reply.forward_ms, 0);
  EXPECT_EQ(reply.backward_ms, 0);
}

TEST(SplitReplay, OfACallWithoutABackwardPassGivesItNoTime) {
  ReplayWorld world;
  world.world.recording.markers = {3};
  make_three(world);
  const auto reply = world.replayed(split());
  EXPECT_THAT(reply.forward_ms, DoubleNear(7, near_ms));
  EXPECT_THAT(reply.backward_ms, DoubleNear(0, near_ms));
}

TEST(SplitReplay, OfACallWithoutAForwardPassGivesItNoTime) {
  ReplayWorld world;
  world.world.recording.markers = {0};
  make_three(world);
  const auto reply = world.replayed(split());
  EXPECT_THAT(reply.forward_ms, DoubleNear(0, near_ms));
  EXPECT_THAT(reply.backward_ms, DoubleNear(7, near_ms));
}

TEST(SplitReplay, WaitsAtTheMarkerForAllStreams) {
  ReplayWorld world;
  world.driver.kernels["add"].ms = 2;
  world.driver.kernels["times"].ms = 4;
  world.launch("set", heap, 1, 1);
  world.world.host_waits(recording::HostWaits::device);
  world.world.recording.markers = {2};
  world.launch("add", heap + 4, 1, 0);
  world.launch("times", heap, 1, 1);
  world.world.host_waits(recording::HostWaits::device);
  EXPECT_EQ(world.loaded().not_split, "");
  world.replayed();
  const auto reply = world.replayed(split());
  EXPECT_THAT(reply.forward_ms, DoubleNear(1, near_ms));
  EXPECT_THAT(reply.forward_ms + reply.backward_ms, DoubleNear(reply.device_ms, near_ms));
  EXPECT_GE(reply.backward_ms, 4);
}

TEST(SplitReplay, GivesTheSameOutputs) {
  ReplayWorld world;
  world.add_output(heap);
  world.launch("set", heap, 5);
  world.launch("add", heap, 2);
  world.world.recording.markers = {1};
  world.loaded();
  world.replayed(split());
  EXPECT_EQ(world.output(), 7U);
}

TEST(SplitReplay, OfARecordingWithoutAMarkerIsRefused) {
  ReplayWorld world;
  make_three(world);
  EXPECT_EQ(world.failure(split()).error_class, "infrastructure");
}

TEST(SplitReplay, OfABatchIsRefused) {
  ReplayWorld world;
  make_marked(world);
  auto request = split();
  request.repeats = 2;
  EXPECT_EQ(world.failure(request).error_class, "infrastructure");
}

TEST(Loading, TellsWhyThePassesCannotBeToldApart) {
  ReplayWorld world;
  make_three(world);
  EXPECT_EQ(world.loaded().not_split, "its recording has no marker between them");
}

}  // namespace
}  // namespace kw::replayer
