#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/core/files.h"
#include "dataset/labels/answers.h"

namespace kw::labels {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> cached_targets{"sm_80", "sm_90"};
const Answer good{corpus::CompileLabel::compilable, "", {"sm_90"}};

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("kernelwright-labels-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file() const { return folder_ / "answers.jsonl"; }
  fs::path folder_;
};

TEST_F(Cache, AnAnswerIsThereTheNextTime) {
  ASSERT_TRUE(AnswerCache::open(file(), cached_targets)->keep("k", good));
  auto again = AnswerCache::open(file(), cached_targets);
  ASSERT_TRUE(again && again->find("k") != nullptr);
  EXPECT_EQ(again->find("k")->compiled_for, good.compiled_for);
}

TEST_F(Cache, AHalfLineDoesNotSpoilTheNext) {
  std::ofstream(file()) << R"({"key":"a","comp)";
  ASSERT_TRUE(AnswerCache::open(file(), cached_targets)->keep("k", good));
  EXPECT_NE(AnswerCache::open(file(), cached_targets)->find("k"), nullptr);
}

TEST_F(Cache, NonsenseIsPassedOver) {
  std::ofstream(file()) << "[]\n\xff\n{\"key\":\"k\",\"compile\":\"compilable\"}\n";
  auto cache = AnswerCache::open(file(), cached_targets);
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->find("k"), nullptr);
}

TEST_F(Cache, WithoutAFileNothingIsKept) {
  auto cache = AnswerCache::open({}, cached_targets);
  ASSERT_TRUE(cache && cache->keep("k", good));
  EXPECT_EQ(cache->find("k"), nullptr);
}

TEST_F(Cache, AFolderThatIsNotThereIsAnError) {
  auto cache = AnswerCache::open(folder_ / "none" / "answers.jsonl", cached_targets);
  ASSERT_FALSE(cache);
  EXPECT_NE(cache.error().what.find("answers.jsonl"), std::string::npos);
}

}  // namespace
}  // namespace kw::labels
