#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <set>

#include "base/core/files.h"
#include "base/core/json.h"
#include "loop/tasks/formats.h"
#include "task_world.h"

namespace kw {
namespace {

Yield read(const std::string& path) {
  return drain(open_source(path, {}));
}

Yield read_text(const std::string& text) {
  Folder folder;
  OpenOptions options;
  options.kind = InputKind::traces;
  return drain(open_source(folder.write("traces.json", text), options));
}

std::string trace(const std::string& key, const std::string& more) {
  return R"({"sample_key":")" + key + R"(","pytorch_code":"r",)" + more + "}";
}

std::vector<std::string> ids(const Yield& yield) {
  std::vector<std::string> names;
  for (const Job& job : yield.jobs) names.push_back(job.id);
  return names;
}

TEST(Traces, IdsOfRepeatedKeysAndTurns) {
  std::string single = trace("a", R"("triton_code":"k")");
  std::string multi = trace("a", R"("turns":[{"turn":1,"triton_code":"k"},{"turn":2,"triton_code":"l"}])");
  EXPECT_EQ(ids(read_text("[" + single + "," + multi + "," + single + "]")),
            (std::vector<std::string>{"a", "a~2#1", "a~2#2", "a~3"}));
}
TEST(Traces, TaskIdsBySource) {
  auto id = [](const std::string& key, const std::string& more) {
    Yield yield = read_text("[" + trace(key, more + R"("triton_code":"k")") + "]");
    return yield.jobs.empty() ? yield.broken : yield.jobs[0].task.task_id;
  };
  EXPECT_EQ(id("kernelbench_9", R"("source":"kernelbench","level":2,"problem_id":9,)"), "kernelbench/2/9");
  EXPECT_EQ(id("kernelbench_9", R"("level":null,)"), "kernelbench/?/9");
  EXPECT_EQ(id("kernelbook_1174", ""), "kernelbook/1174");
  EXPECT_EQ(id("sample_rowsum", ""), "sample/rowsum");
  EXPECT_EQ(id("other", ""), hashed_task_id("r", ""));
}
TEST(Traces, CodeFromTheCompletionWhereThereIsNone) {
  Yield yield =
      read_text("[" + trace("a", R"("triton_code":null,"full_completion":"<triton>k</triton>")") + "]");
  ASSERT_EQ(yield.jobs.size(), 1U);
  EXPECT_EQ(yield.jobs[0].candidate.code, "k");
}
TEST(Traces, RecordedResultsAreKept) {
  Yield yield = read_text(
      "[" + trace("a", R"("triton_code":"k","result":{"correctness":true,"speedup":1.5,"error":null})") +
      "]");
  ASSERT_EQ(yield.jobs.size(), 1U);
  ASSERT_TRUE(yield.jobs[0].recorded);
  EXPECT_TRUE(yield.jobs[0].recorded->correctness);
  EXPECT_EQ(yield.jobs[0].recorded->speedup, 1.5);
}
TEST(Traces, ABadTraceDoesNotStopTheNext) {
  Yield yield = read_text("[{\"prompt\":\"x\"}," + trace("a", R"("triton_code":"k")") + "]");
  EXPECT_EQ(yield.jobs.size(), 1U);
  ASSERT_EQ(yield.errors.size(), 1U);
  EXPECT_EQ(yield.errors[0].row, 1U);
}
TEST(Traces, ATruncatedFileIsOneError) {
  EXPECT_NE(read_text(R"([{"sample_key": "a", "pytorch)").broken.find("JSON"), std::string::npos);
}

TEST(TracesOfTheSample, IdsAreThoseOfItsExpectations) {
  std::set<std::string> made;
  for (const char* name : {"single_turn.json", "multi_turn.json"}) {
    Yield yield = read(source_file(std::string("examples/sample/") + name));
    EXPECT_TRUE(yield.errors.empty() && yield.broken.empty()) << yield.broken;
    for (const Job& job : yield.jobs) made.insert(job.id);
  }
  auto text = read_file(source_file("examples/sample/expected.json"));
  ASSERT_TRUE(text);
  auto expected = parse_json(*text);
  ASSERT_TRUE(expected);
  std::set<std::string> wanted;
  for (const auto& [id, verdict] : expected->get_object()) wanted.insert(std::string(id));
  EXPECT_EQ(made, wanted);
}

class Recorded : public testing::TestWithParam<std::pair<const char*, std::size_t>> {};

TEST_P(Recorded, EveryKernelIsAJobWithItsResult) {
  std::string path = recorded_file(GetParam().first);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the recorded completions are not at " << path;
  Yield yield = read(path);
  EXPECT_TRUE(yield.errors.empty()) << describe(yield.errors.front());
  EXPECT_EQ(yield.jobs.size(), GetParam().second);
  for (const Job& job : yield.jobs) {
    EXPECT_TRUE(job.recorded) << job.id;
    EXPECT_FALSE(job.candidate.code.empty()) << job.id;
    EXPECT_FALSE(job.task.task_id.starts_with("sha256:")) << job.id;
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, Recorded,
                         testing::Values(std::pair{"recorded_glm45_single_turn.json", std::size_t{12}},
                                         std::pair{"recorded_qwen3_multi_turn.json", std::size_t{31}}));

}  // namespace
}  // namespace kw
