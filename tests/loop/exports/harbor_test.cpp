#include "loop/exports/harbor.h"

#include <gtest/gtest.h>

#include <map>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/toml.h"
#include "support/world.h"

namespace kw::exports {
namespace {

using Files = std::map<std::string, std::string>;

HarborTask a_task() {
  HarborTask made;
  made.task.task_id = "kernelbench/1/19";
  made.task.source = "kernelbench";
  made.task.reference_code = "def reference_impl(x):\n    return SECRET + x\n";
  made.task.entry_point = "reference_impl";
  made.task.input_shapes = R"({"x": {"shape": [4]}})";
  made.version = "0123";
  made.prompt = "Write it.";
  return made;
}

Files files_of(const HarborTask& task, const HarborOptions& options = {}) {
  Files files;
  for (auto& [name, bytes] : harbor_files(task, "kernelbench-1-19", options))
    EXPECT_TRUE(files.emplace(name, bytes).second) << name;
  return files;
}

TEST(Harbor, ATaskHasTheKeysOfTheFormat) {
  toml::table config = toml::parse(files_of(a_task()).at("task.toml")).table();
  EXPECT_EQ(config["schema_version"].value<std::string>(), "1.4");
  EXPECT_EQ(config["task"]["name"].value<std::string>(), "kernelwright/kernelbench-1-19");
  EXPECT_EQ(config["artifacts"][0].value<std::string>(), "/app/kernel.py");
  EXPECT_EQ(config["verifier"]["environment_mode"].value<std::string>(), "separate");
  EXPECT_EQ(config["metadata"]["task_id"].value<std::string>(), "kernelbench/1/19");
}

TEST(Harbor, TheVerifierHasGradientsJudgedWhereTheTaskAsksForThem) {
  for (bool gradients : {false, true}) {
    HarborOptions options;
    options.gradients = gradients;
    EXPECT_EQ(files_of(a_task(), options).at("tests/task.json").contains(R"("options":{"backward":true})"),
              gradients);
  }
}

TEST(Harbor, TheVerifierAloneHasTheKey) {
  Files files = files_of(a_task());
  toml::table config = toml::parse(files.at("task.toml")).table();
  EXPECT_EQ(config["verifier"]["env"]["KERNELWRIGHT_EVALUATOR_KEY"].value<std::string>(),
            "${KERNELWRIGHT_EVALUATOR_KEY:-}");
  EXPECT_FALSE(config["environment"]["env"]);
  for (const char* file : {"instruction.md", "environment/Dockerfile"})
    EXPECT_FALSE(files.at(file).contains("EVALUATOR")) << file;
}

TEST(Harbor, WithAServiceNoFileHasTheReference) {
  for (const auto& [name, bytes] : files_of(a_task())) EXPECT_FALSE(bytes.contains("SECRET")) << name;
}

TEST(Harbor, AVerifierThatJudgesHasTheReferenceInTestsAlone) {
  HarborOptions options;
  options.judge = HarborJudge::local;
  options.verifier_image = "kernelwright:0.1.0";
  options.gpus = 1;
  Files files = files_of(a_task(), options);
  for (const auto& [name, bytes] : files)
    EXPECT_EQ(bytes.contains("SECRET"), name == "tests/tasks.jsonl") << name;
  auto row = parse_json(files.at("tests/tasks.jsonl"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->at("task_id"), "kernelbench/1/19");
  EXPECT_EQ(row->at("input_shapes").at("x").at("shape").at(0), 4);
  EXPECT_EQ(files.at("tests/Dockerfile"), "FROM kernelwright:0.1.0\nENTRYPOINT []\nCOPY . /tests/\n");
  toml::table config = toml::parse(files.at("task.toml")).table();
  EXPECT_EQ(config["verifier"]["environment"]["network_mode"].value<std::string>(), "no-network");
  EXPECT_EQ(config["verifier"]["environment"]["gpus"].value<int>(), 1);
}

TEST(Harbor, ASolutionIsThereWhereOneIsKnown) {
  HarborTask task = a_task();
  EXPECT_FALSE(files_of(task).contains("solution/solve.sh"));
  task.solution = "import triton\n";
  Files files = files_of(task);
  EXPECT_EQ(files.at("solution/kernel.py"), "import triton\n");
  EXPECT_TRUE(files.contains("solution/solve.sh"));
}

TEST(Harbor, HostileTextStaysAValue) {
  HarborTask task = a_task();
  task.task.task_id = "x\"\n[verifier]\nenvironment_mode = \"shared\"\n'''\\\x7f\xff";
  task.task.name = "'''\n[agent.env]\nA = \"1\"";
  toml::parse_result parsed = toml::parse(files_of(task).at("task.toml"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed.table()["verifier"]["environment_mode"].value<std::string>(), "separate");
  EXPECT_FALSE(parsed.table()["agent"]["env"]);
}

TEST(Harbor, FoldersAreWrittenWithScriptsThatRun) {
  Folder folder;
  HarborTask other = a_task();
  other.task.task_id = "../../x";
  ASSERT_TRUE(write_harbor({a_task(), other}, folder.path("out"), {}));
  std::filesystem::path first = folder.path("out/kernelbench-1-19");
  EXPECT_NE(
      std::filesystem::status(first / "tests/test.sh").permissions() & std::filesystem::perms::owner_exec,
      std::filesystem::perms::none);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("out")), {}), 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Harbor, AnImageIsOneWord) {
  EXPECT_TRUE(is_image_name("registry.example.org:5000/a/b@sha256:0123"));
  for (const char* bad : {"", "a b", "a\nRUN x", "-a", "a$b", "a#"}) EXPECT_FALSE(is_image_name(bad)) << bad;
}

}  // namespace
}  // namespace kw::exports
