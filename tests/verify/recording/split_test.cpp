// The marker between the forward and the backward pass of a recording.
#include <gtest/gtest.h>

#include "world.h"

namespace kw::recording {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t own = 0, beside = 1;

World with_separate_streams() {
  World world;
  world.recording.streams[own]->legacy_default = false;
  world.recording.streams[own]->blocking = false;
  return world;
}

void add_marker(World& world) {
  world.recording.markers.push_back(static_cast<std::uint32_t>(world.recording.operations.size()));
}

TEST(Split, IsTheFirstStepBehindTheMarker) {
  World world;
  world.launch();
  world.record(own, 1);
  world.launch();
  add_marker(world);
  world.launch();
  const Split split = world.planned().split;
  EXPECT_EQ(split.at, 2U);
  EXPECT_EQ(split.why_not, "");
}

TEST(Split, WithoutAMarkerIsNone) {
  World world;
  world.launch();
  EXPECT_THAT(world.planned().split.why_not, HasSubstr("no marker"));
}

TEST(Split, ByTwoMarkersIsNone) {
  World world;
  add_marker(world);
  world.launch();
  add_marker(world);
  EXPECT_THAT(world.planned().split.why_not, HasSubstr("more than one marker"));
}

TEST(Split, BehindEverythingLeavesNoBackwardPass) {
  World world;
  world.launch();
  add_marker(world);
  const Split split = world.planned().split;
  EXPECT_EQ(split.at, 1U);
  EXPECT_EQ(split.why_not, "");
}

TEST(Split, IsNotSeenWhileAnotherStreamIsNotJoined) {
  World world = with_separate_streams();
  world.launch(beside);
  add_marker(world);
  world.launch(own);
  EXPECT_THAT(world.planned().split.why_not, HasSubstr("forward pass still runs on another stream"));
}

TEST(Split, IsSeenOnceTheCallersStreamWaits) {
  World world = with_separate_streams();
  world.launch(beside);
  world.record(beside, 1);
  world.wait(own, 1);
  add_marker(world);
  world.launch(own);
  EXPECT_EQ(world.planned().split.why_not, "");
}

TEST(Split, IsSeenOnceTheHostHasWaited) {
  World world = with_separate_streams();
  world.launch(beside);
  world.host_waits(HostWaits::device);
  add_marker(world);
  world.launch(beside);
  EXPECT_EQ(world.planned().split.why_not, "");
}

TEST(Split, IsNotSeenWhereTheBackwardPassDoesNotWait) {
  World world = with_separate_streams();
  world.launch(own);
  add_marker(world);
  world.launch(beside);
  EXPECT_THAT(world.planned().split.why_not, HasSubstr("does not wait for the forward pass"));
}

TEST(Split, IsSeenWhereAnotherStreamWaitsForTheForwardPass) {
  World world = with_separate_streams();
  world.launch(own);
  add_marker(world);
  world.record(own, 1);
  world.wait(beside, 1);
  world.launch(beside);
  EXPECT_EQ(world.planned().split.why_not, "");
}

// Two blocking streams wait for the default stream and not for each other.
TEST(Split, AddsNoDependency) {
  for (bool marked : {false, true}) {
    World world;
    world.recording.streams[beside]->blocking = true;
    world.launch(beside);
    if (marked) add_marker(world);
    world.launch(3);
    EXPECT_TRUE(world.planned().open) << marked;
  }
}

TEST(Marker, BehindTheLastOperationIsRefused) {
  World world;
  world.launch();
  world.recording.markers = {2};
  EXPECT_THAT(world.refusal(), HasSubstr("marker 0"));
}

TEST(Marker, IsRefusedAmongVeryMany) {
  World world;
  world.recording.markers.assign(100'000, 0);
  EXPECT_THAT(world.refusal(), HasSubstr("100000 markers"));
}

TEST(Marker, IsShownAtItsPlace) {
  World world;
  world.launch();
  add_marker(world);
  world.copy();
  const std::string text = world.shown();
  EXPECT_LT(text.find("  0  stream 0"), text.find("-- marker"));
  EXPECT_LT(text.find("-- marker"), text.find("  1  stream 0"));
  EXPECT_THAT(text, HasSubstr("passes: 1 steps forward, then the backward pass\n"));
}

TEST(Marker, IsNotShownWhereThereIsNone) {
  EXPECT_THAT(full_world().shown(), Not(HasSubstr("passes")));
}

}  // namespace
}  // namespace kw::recording
