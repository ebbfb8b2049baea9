#include <gtest/gtest.h>

#include "world.h"

namespace kw::recording {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Shown, TellsWhereItWasRecorded) {
  EXPECT_THAT(World().shown(), HasSubstr("NVIDIA H200, compute capability 9.0, driver 13.0"));
}

TEST(Shown, TellsOfMemory) {
  std::string text = full_world().shown();
  EXPECT_THAT(text, HasSubstr("heap: 64.0 MiB at 0x300000000000, 1.0 MiB committed"));
  EXPECT_THAT(text, HasSubstr("state: 1.0 KiB in 2 blocks"));
}

TEST(Shown, TellsWhichStreamIsTheCallers) {
  EXPECT_THAT(World().shown(), HasSubstr("  0  legacy default, priority 0, the caller's\n"));
}

TEST(Shown, TellsOfCubinsWhatIsLaunchedAndKept) {
  std::string text = full_world().shown();
  EXPECT_THAT(text, HasSubstr("     kernel add\n"));
  EXPECT_THAT(text, HasSubstr("     global counter, 4 bytes\n"));
}

TEST(Shown, HasALineForEachOperation) {
  std::string text = full_world().shown();
  EXPECT_THAT(
      text, HasSubstr("  0  stream 0  launch add of cubin 0, grid 4 x 1 x 1, block 128 x 1 x 1, 12 bytes of "
                      "parameters, attributes 4\n"));
  EXPECT_THAT(text, HasSubstr("  6  stream 1  wait for event 0x7\n"));
}

TEST(Shown, TellsWhatIsNeverJoined) {
  EXPECT_THAT(full_world().shown(), HasSubstr("; 1 that the caller never waits for"));
}

TEST(Shown, CutsALongList) {
  World world;
  for (int i = 0; i < 1500; ++i) world.copy();
  std::string text = world.shown();
  EXPECT_THAT(text, HasSubstr("  999  "));
  EXPECT_THAT(text, Not(HasSubstr("  1000  ")));
  EXPECT_THAT(text, HasSubstr("... 500 more"));
}

TEST(Shown, HasNoControlCharactersOfOthers) {
  World world;
  world.recording.gpu = "H200\x1b[2J\nreplayable: yes";
  EXPECT_THAT(world.shown(), HasSubstr("gpu: H200\xEF\xBF\xBD[2J replayable: yes,"));
}

TEST(Replayable, IsWhatHasWorkAndNoObstacles) {
  World world;
  world.launch();
  EXPECT_EQ(world.why_not_replayable(), "");
}

TEST(Replayable, IsNotACallWithoutWork) {
  World world;
  world.record(0, 1);
  EXPECT_EQ(world.why_not_replayable(), "the call did no work on the device");
}

TEST(Replayable, IsNotACallWithObstacles) {
  World world;
  world.launch();
  world.add_obstacle("driver call", "cuMemcpy3D");
  world.add_obstacle("no cubin", "");
  EXPECT_EQ(world.why_not_replayable(), "driver call (cuMemcpy3D); no cubin");
}

TEST(Replayable, TellsTheFirstObstaclesOfMany) {
  World world;
  for (int i = 0; i < 5; ++i) world.add_obstacle("no cubin", "");
  EXPECT_EQ(world.why_not_replayable(), "no cubin; no cubin; no cubin; and 2 more");
}

}  // namespace
}  // namespace kw::recording
