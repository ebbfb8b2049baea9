#include <gtest/gtest.h>

#include "dataset/build/write.h"
#include "world.h"

namespace kw::dataset {
namespace {

BuildSettings into(const World& world) {
  BuildSettings settings;
  settings.out = world.folder();
  settings.state = settings.out / ".state";
  settings.review = settings.out / "review.csv";
  return settings;
}

TEST(BuildOutput, AFolderWithFilesOfOthersIsRefused) {
  World world;
  world.write("data/mine.txt", "mine");
  auto checked = check_output(into(world));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().what,
            world.folder().string() + " is not empty, and no folder of `dataset build`");
}

TEST(BuildOutput, AFileOfOthersNamedProvenanceIsNoMark) {
  World world;
  world.write("PROVENANCE.md", "# Wine\n");
  EXPECT_FALSE(check_output(into(world)));
}

TEST(BuildOutput, AnEmptyOrMissingFolderIsTaken) {
  World world;
  EXPECT_TRUE(check_output(into(world)));
  auto settings = into(world);
  settings.out = world.folder() / "missing";
  EXPECT_TRUE(check_output(settings));
}

TEST(BuildOutput, AnInterruptedBuildGoesOn) {
  World world;
  world.write(".state/lock", "");
  world.write(".new/fim.jsonl", "");
  EXPECT_TRUE(check_output(into(world)));
}

TEST(BuildOutput, AnInterruptedBuildWithItsStateElsewhereGoesOn) {
  World world;
  world.write(".new/fim.jsonl", "");
  auto settings = into(world);
  settings.state = "/nowhere";
  EXPECT_TRUE(check_output(settings));
}

TEST(BuildOutput, AnEarlierOutputWithoutItsStateIsTaken) {
  World world;
  world.write("PROVENANCE.md", provenance_markdown(BuildSummary{}));
  EXPECT_TRUE(check_output(into(world)));
}

TEST(BuildOutput, DecisionsThatTheBuildReadsAreNotForeign) {
  World world;
  auto settings = into(world);
  settings.review = world.write("decisions.csv", "id,decision,reviewer,note\n");
  EXPECT_TRUE(check_output(settings));
}

TEST(BuildOutput, AStateFolderThatCannotBeMadeIsNamed) {
  World world;
  auto lock = StateLock::take(world.write("file", "") + "/state");
  ASSERT_FALSE(lock);
  EXPECT_TRUE(lock.error().what.starts_with("cannot make ")) << lock.error().what;
  EXPECT_FALSE(lock.error().remedy.empty());
}

}  // namespace
}  // namespace kw::dataset
