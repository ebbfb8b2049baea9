#include "options/serve_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace kw {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct DeployWords {
  DeployFlags deploy;

  // The error about the arguments, or "".
  std::string parse(std::vector<std::string> words) {
    CLI::App app;
    deploy.add(app);
    std::ranges::reverse(words);  // CLI11 takes a vector in reverse
    try {
      app.parse(words);
    } catch (const CLI::Error& error) {
      return error.what();
    }
    return {};
  }
};

TEST(DeployFlags, OneNumberOfReplicasIsBothBounds) {
  auto scale = parse_scale("3");
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->least, 3U);
  EXPECT_EQ(scale->most, 3U);
}

TEST(DeployFlags, ReplicasMayGoDownToNone) {
  DeployWords words;
  EXPECT_EQ(words.parse({"ray", "--replicas", "0:8"}), "");
  ASSERT_TRUE(words.deploy.ray.replicas);
  EXPECT_EQ(words.deploy.ray.replicas->least, 0U);
  EXPECT_EQ(words.deploy.ray.replicas->most, 8U);
}

TEST(DeployFlags, ReplicasThatAreNoneOrTurnedRoundAreRefused) {
  for (const char* text : {"0", "8:1", "1:", ":2", "1:2:3", "-1", "a"})
    EXPECT_THAT(DeployWords().parse({"ray", "--replicas", text}), HasSubstr("--replicas")) << text;
}

TEST(DeployFlags, WhatComesAfterTwoDashesIsForTheService) {
  DeployWords words;
  EXPECT_EQ(words.parse({"modal", "--idle", "60", "--", "--timeout", "30"}), "");
  EXPECT_THAT(words.deploy.modal.serve_words, ElementsAre("--timeout", "30"));
  EXPECT_EQ(words.deploy.modal.idle_s, 60);
}

TEST(DeployFlags, ModalsGpuIsTheVeryOne) {
  DeployWords words;
  EXPECT_EQ(words.parse({"modal"}), "");
  EXPECT_EQ(words.deploy.modal.gpu, "H100!");
}

TEST(DeployFlags, SomewhereMustBeNamed) {
  EXPECT_NE(DeployWords().parse({}), "");
}

}  // namespace
}  // namespace kw
