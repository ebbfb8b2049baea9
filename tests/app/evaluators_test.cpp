#include "evaluators.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace kw::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A configuration folder that is not there yet.
struct EvaluatorsTest : testing::Test {
  EvaluatorsTest() {
    std::string name = (fs::temp_directory_path() / "kw_evaluators_XXXXXX").string();
    folder = mkdtemp(name.data());
    file = folder / "kernelwright" / "evaluators.json";
  }
  ~EvaluatorsTest() override { fs::remove_all(folder); }

  void write(const std::string& text) const {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string text() const {
    std::stringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
  }

  fs::path folder;
  fs::path file;
};

TEST_F(EvaluatorsTest, WhatIsKeptIsFound) {
  ASSERT_TRUE(keep_evaluator(file, "modal", "https://one.example"));
  auto found = find_evaluator(file, "modal");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->url, "https://one.example");
  EXPECT_THAT((*found)->made_at, testing::EndsWith("Z"));
  EXPECT_EQ(*find_evaluator(file, "ray"), std::nullopt);
}

TEST_F(EvaluatorsTest, WithoutAFileNoneIsKnown) {
  auto found = find_evaluator(file, "modal");
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST_F(EvaluatorsTest, ANewOneTakesThePlaceOfTheOldOneAndLeavesOthersAlone) {
  write(R"({"modal": {"url": "https://old", "note": "mine"}, "ray": {"url": "http://ray"}, "other": 1})");
  ASSERT_TRUE(keep_evaluator(file, "modal", "https://new"));
  EXPECT_EQ((*find_evaluator(file, "modal"))->url, "https://new");
  EXPECT_EQ((*find_evaluator(file, "ray"))->url, "http://ray");
  EXPECT_THAT(text(), HasSubstr(R"("note":"mine")"));
  EXPECT_THAT(text(), HasSubstr(R"("other":1)"));
}

TEST_F(EvaluatorsTest, AFileThatIsNoJsonIsNamedAndStaysAsItIs) {
  write("{ half");
  auto found = find_evaluator(file, "modal");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().what, HasSubstr(file.string()));
  EXPECT_FALSE(keep_evaluator(file, "modal", "https://new"));
  EXPECT_EQ(text(), "{ half");
}

TEST_F(EvaluatorsTest, ItLiesWhereTheEnvironmentSays) {
  setenv("XDG_CONFIG_HOME", "/somewhere", 1);
  EXPECT_EQ(evaluators_file()->string(), "/somewhere/kernelwright/evaluators.json");
  setenv("XDG_CONFIG_HOME", "not/absolute", 1);
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(evaluators_file()->string(), "/home/somebody/.config/kernelwright/evaluators.json");
  unsetenv("XDG_CONFIG_HOME");
  unsetenv("HOME");
  EXPECT_FALSE(evaluators_file());
}

}  // namespace
}  // namespace kw::app
