// The places of evaluators, their keys, and the options that only a local engine supports.
#include "evaluators.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "options/shared_flags.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A configuration folder that does not exist yet.
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

struct KeysTest : testing::Test {
  KeysTest() {
    setenv("KERNELWRIGHT_EVALUATOR_KEY", " secret\n", 1);
    setenv("MODAL_KEY", "wk-1", 1);
    setenv("MODAL_SECRET", "ws-1", 1);
  }
  ~KeysTest() override {
    for (const char* name : {"KERNELWRIGHT_EVALUATOR_KEY", "MODAL_KEY", "MODAL_SECRET"}) unsetenv(name);
  }
};

TEST_F(KeysTest, EveryEvaluatorGetsTheBearerKey) {
  EvaluatorKeys keys = evaluator_keys("http://host:8471", "http://host:8471");
  EXPECT_EQ(http::header(keys.headers, "Authorization"), "Bearer secret");
}

TEST_F(KeysTest, ModalsKeysGoToModalAlone) {
  for (const char* url : {"https://host", "https://modal.run.example.com", "https://notmodal.run"})
    EXPECT_EQ(http::header(evaluator_keys(url, url).headers, "Modal-Secret"), "") << url;
  EXPECT_EQ(http::header(evaluator_keys("ray", "http://127.0.0.1:8000").headers, "Modal-Key"), "");
  const std::string there = "https://me--kernels.modal.run";
  for (const auto& where : {there, std::string("modal")}) {
    EvaluatorKeys keys = evaluator_keys(where, there);
    EXPECT_EQ(http::header(keys.headers, "Modal-Key"), "wk-1");
    EXPECT_EQ(http::header(keys.headers, "Modal-Secret"), "ws-1");
  }
}

TEST_F(KeysTest, TheAdviceSaysWhatIsMissingAndShowsNoKey) {
  EXPECT_THAT(evaluator_keys("modal", "https://a.modal.run").advice, testing::Not(HasSubstr("secret")));
  unsetenv("KERNELWRIGHT_EVALUATOR_KEY");
  unsetenv("MODAL_SECRET");
  EXPECT_THAT(evaluator_keys("modal", "https://a.modal.run").advice,
              testing::AllOf(HasSubstr("set KERNELWRIGHT_EVALUATOR_KEY"), HasSubstr("set MODAL_KEY")));
}

// The flags' result for these arguments of a verb.
struct Flags {
  explicit Flags(std::string words) {
    add_settings(app, settings);
    evaluator.add(app);
    app.parse(std::move(words));
  }
  std::string refusal() const {
    auto fits = evaluator.check(app);
    return fits ? "" : fits.error().what + " -> " + fits.error().remedy;
  }

  CLI::App app{"", "verify"};
  Settings settings;
  EvaluatorFlags evaluator;
};

TEST(EvaluatorFlags, AreAWordOrAUrl) {
  for (const char* good : {"local", "modal", "ray", "http://h:1", "https://h/below"})
    EXPECT_TRUE(parse_evaluator(good)) << good;
  for (const char* bad : {"", "remote", "h:8471", "ftp://h"}) EXPECT_FALSE(parse_evaluator(bad)) << bad;
}

TEST(EvaluatorFlags, RefuseWhatAServiceDecides) {
  EXPECT_EQ(Flags("--device cpu").refusal(), "");
  EXPECT_EQ(Flags("--evaluator local --device cpu --memory 8G").refusal(), "");
  EXPECT_EQ(Flags("--evaluator ray --timeout 5 --jobs 3 --python /x").refusal(), "");
  for (const char* words : {"--device cpu", "--memory 8G", "--recordings x", "--allow-unsandboxed"}) {
    std::string refusal = Flags(std::string("--evaluator ray ") + words).refusal();
    EXPECT_THAT(refusal, testing::AllOf(HasSubstr("ray decides --"), HasSubstr("--evaluator local")));
  }
}

TEST(EvaluatorFlags, TheEnvironmentNamesOneAndAFlagAnother) {
  setenv("KERNELWRIGHT_EVALUATOR", "modal", 1);
  EXPECT_EQ(Flags("").evaluator.where, "modal");
  EXPECT_EQ(Flags("--evaluator local --device cpu").refusal(), "");
  unsetenv("KERNELWRIGHT_EVALUATOR");
}

}  // namespace
}  // namespace kw::app
