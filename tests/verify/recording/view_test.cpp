#include <gtest/gtest.h>

#include "world.h"

namespace kw::recording {
namespace {

using testing::HasSubstr;

TEST(View, AcceptsASmallRecording) {
  World world;
  world.launch();
  EXPECT_EQ(world.refusal(), "");
}

TEST(View, AcceptsSomeOfEverything) {
  EXPECT_EQ(full_world().refusal(), "");
}

TEST(View, ShowsWhatWasWritten) {
  World world;
  world.launch();
  std::string bytes = world.bytes();
  auto view = View::of(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ((*view)->operations()->Get(0)->work_as_Launch()->name()->str(), "add");
}

TEST(View, RefusesNothingAtAll) {
  EXPECT_EQ(View::of("").error().what, "this is no recording");
}

TEST(View, RefusesAnotherFile) {
  EXPECT_EQ(View::of("Once upon a time there was a file.").error().what, "this is no recording");
}

TEST(View, RefusesAFileThatIsCutShort) {
  std::string bytes = full_world().bytes();
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    std::string cut = bytes.substr(0, size);
    EXPECT_FALSE(View::of(cut)) << size;
  }
}

TEST(View, RefusesAnotherVersion) {
  World world;
  world.recording.version = 2;
  EXPECT_THAT(world.refusal(), HasSubstr("of version 2"));
}

TEST(View, RefusesARecordingWithoutAnyStream) {
  World world;
  world.recording.streams.clear();
  EXPECT_THAT(world.refusal(), HasSubstr("no stream"));
}

TEST(View, RefusesTooManyStreams) {
  World world;
  while (world.recording.streams.size() <= max_streams)
    world.recording.streams.push_back(std::make_unique<StreamT>());
  EXPECT_THAT(world.refusal(), HasSubstr("65 streams"));
}

TEST(View, RefusesTwoLegacyDefaultStreams) {
  World world;
  world.recording.streams[1]->legacy_default = true;
  EXPECT_THAT(world.refusal(), HasSubstr("legacy default"));
}

TEST(View, RefusesAVeryLongName) {
  World world;
  world.recording.gpu.assign(10'000, 'x');
  EXPECT_THAT(world.refusal(), HasSubstr("too long"));
}

TEST(View, RefusesObstaclesOfManyWords) {
  World world;
  world.add_obstacle("driver call", std::string(10'000, 'x'));
  EXPECT_THAT(world.refusal(), HasSubstr("obstacle 0"));
}

TEST(View, RefusesTooManyOperations) {
  World world;
  for (std::size_t i = 0; i <= max_operations; ++i) world.record(0, i);
  EXPECT_THAT(world.refusal(), HasSubstr("200001 operations"));
}

}  // namespace
}  // namespace kw::recording
