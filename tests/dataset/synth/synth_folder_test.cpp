#include "dataset/synth/synth_folder.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/core/files.h"

namespace kw::synth {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Draft draft_with(std::uint64_t number, const std::string& kernel) {
  Draft draft;
  draft.number = number;
  draft.family = "norm";
  draft.name = "n";
  draft.reference = "reference";
  draft.kernel = kernel;
  return draft;
}

class SynthFolders : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::path(testing::TempDir()) / (std::string("kw_synth_") + info->name());
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  fs::path path_;
  SynthSettings settings_;
};

TEST_F(SynthFolders, AnotherRunGoesOnAfterTheLastDraftAndVerdict) {
  {
    auto folder = SynthFolder::open(path_, settings_);
    ASSERT_TRUE(folder.has_value()) << folder.error().what;
    ASSERT_TRUE(folder->add({draft_with(0, "one of the kernels"), draft_with(1, "quite another text here")}));
    auto open = folder->take_open();
    ASSERT_THAT(open, SizeIs(2));
    ASSERT_TRUE(folder->add(open[0], Outcome::verified, {{"number", 0}}));
  }
  auto folder = SynthFolder::open(path_, settings_);
  ASSERT_TRUE(folder.has_value()) << folder.error().what;
  EXPECT_EQ(folder->next_number(), 2U);
  auto open = folder->take_open();
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0].number, 1U);
  EXPECT_EQ(folder->yields().at("norm").verified, 1U);
}

TEST_F(SynthFolders, AnIncompleteLastLineIsCutOff) {
  {
    auto folder = SynthFolder::open(path_, settings_);
    ASSERT_TRUE(folder.has_value());
    ASSERT_TRUE(folder->add({draft_with(0, "kernel")}));
  }
  auto whole = read_file(path_ / "drafts.jsonl");
  ASSERT_TRUE(whole.has_value());
  ASSERT_TRUE(write_file(path_ / "drafts.jsonl", *whole + R"({"number": 1, "ker)"));
  auto folder = SynthFolder::open(path_, settings_);
  ASSERT_TRUE(folder.has_value()) << folder.error().what;
  EXPECT_EQ(folder->next_number(), 1U);
  EXPECT_EQ(*read_file(path_ / "drafts.jsonl"), *whole);
}

TEST_F(SynthFolders, ANearDuplicateIsNotJudged) {
  auto folder = SynthFolder::open(path_, settings_);
  ASSERT_TRUE(folder.has_value());
  ASSERT_TRUE(folder->add({draft_with(0, "the same kernel"), draft_with(1, "the same kernel")}));
  EXPECT_THAT(folder->take_open(), SizeIs(1));
  EXPECT_EQ(folder->yields().at("norm").duplicates, 1U);
}

TEST_F(SynthFolders, CudaSidesThatAGpuRanAreCountedAgain) {
  const boost::json::object line{{"number", 0}, {"cuda_verified", true}};
  {
    auto folder = SynthFolder::open(path_, settings_);
    ASSERT_TRUE(folder.has_value());
    ASSERT_TRUE(folder->add({draft_with(0, "a kernel"), draft_with(1, "quite another text here")}));
    auto open = folder->take_open();
    ASSERT_TRUE(folder->add(open[0], Outcome::verified, line));
    ASSERT_TRUE(folder->add(open[1], Outcome::verified, {{"number", 1}, {"cuda_verified", false}}));
    EXPECT_EQ(folder->yields().at("norm").cuda_verified, 1U);
  }
  auto folder = SynthFolder::open(path_, settings_);
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(folder->yields().at("norm").cuda_verified, 1U);
  EXPECT_EQ(folder->yields().at("norm").verified, 2U);
}

TEST_F(SynthFolders, AnotherSourceIsRefused) {
  {
    ASSERT_TRUE(SynthFolder::open(path_, settings_).has_value());
  }
  settings_.source = Source::cuda;
  auto folder = SynthFolder::open(path_, settings_);
  ASSERT_FALSE(folder.has_value());
  EXPECT_THAT(folder.error().what, testing::EndsWith("other settings: --source pytorch (now cuda)"));
}

TEST_F(SynthFolders, OtherSettingsAreRefused) {
  {
    ASSERT_TRUE(SynthFolder::open(path_, settings_).has_value());
  }
  settings_.seed = 4;
  settings_.families = {"norm"};
  auto folder = SynthFolder::open(path_, settings_);
  ASSERT_FALSE(folder.has_value());
  EXPECT_THAT(folder.error().what,
              testing::EndsWith("other settings: --seed 0 (now 4); --families all (now norm)"));
}

TEST_F(SynthFolders, ChangedSourcesAreNamedWithoutTheirHashes) {
  const std::string old_hash(64, 'a');
  const std::string new_hash(64, 'b');
  settings_.source = Source::mined;
  settings_.sources = {"manifest " + old_hash, "pack 1.2 " + old_hash, "code files " + old_hash};
  {
    ASSERT_TRUE(SynthFolder::open(path_, settings_).has_value());
  }
  settings_.sources = {"manifest " + old_hash, "pack 1.3 " + old_hash, "code files " + new_hash};
  auto folder = SynthFolder::open(path_, settings_);
  ASSERT_FALSE(folder.has_value());
  EXPECT_THAT(folder.error().what,
              testing::EndsWith("other settings: --from code has changed; --from pack 1.2 is missing now; "
                                "--from pack 1.3 is new"));
}

TEST_F(SynthFolders, AFolderInUseIsRefused) {
  auto first = SynthFolder::open(path_, settings_);
  ASSERT_TRUE(first.has_value());
  auto second = SynthFolder::open(path_, settings_);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().what, HasSubstr("another run uses"));
}

TEST_F(SynthFolders, AFolderWithOtherFilesIsRefusedAndStaysAsItIs) {
  fs::create_directories(path_);
  ASSERT_TRUE(write_file(path_ / "notes.txt", "mine"));
  EXPECT_FALSE(SynthFolder::open(path_, settings_).has_value());
  EXPECT_FALSE(fs::exists(path_ / "synth.json"));
}

}  // namespace
}  // namespace kw::synth
