// Tasks and pairs from the rows of a data set.
#include <boost/json/serialize.hpp>

#include "base/core/files.h"
#include "base/core/json.h"
#include "loop/tasks/formats.h"
#include "loop/tasks/readers.h"
#include "task_world.h"

namespace kw {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

boost::json::object pair_row() {
  return {{"prompt",
           "Rewrite this PyTorch code with a Triton kernel.\n\n```python\nimport torch\n\n"
           "def _twice(x):\n    return x * 2\n\ndef double_ref(x):\n    return _twice(x)\n```\n"},
          {"completion",
           "import triton\n\n@triton.jit\ndef double_kernel(x_ptr):\n    pass\n\n"
           "def double(x):\n    double_kernel[(1,)](x)\n    return x"},
          {"id", "0123456789abcdef"},
          {"kind", "torch2triton"},
          {"source", {{"path", "a.py"}, {"url", "https://example.org/r"}}},
          {"licence", {{"spdx", "MIT"}, {"evidence", "LICENSE"}}},
          {"verdict", nullptr},
          {"input_shapes", {{"x", {{"shape", {4, 8}}, {"dtype", "float16"}}}}}};
}

std::string line_of(const boost::json::object& row) {
  return boost::json::serialize(row) + "\n";
}

Yield kernels_at(const std::string& path) {
  return drain(open_source(path, {.helper = test_helper()}));
}

TEST(DatasetTraces, HaveTheTaskOfTheirPrompt) {
  Yield yield = tasks_at(source_file("examples/dataset/trace.jsonl"));
  EXPECT_TRUE(yield.errors.empty());
  auto rowsum =
      std::ranges::find(yield.jobs, "sample/rowsum", [](const Job& job) { return job.task.task_id; });
  ASSERT_NE(rowsum, yield.jobs.end());
  EXPECT_EQ(rowsum->task.reference_code, *read_file(source_file("examples/sample/tasks/rowsum.py")));
  EXPECT_EQ(*parse_json(rowsum->task.input_shapes),
            *parse_json(*read_file(source_file("examples/sample/tasks/rowsum.shapes.json"))));
  EXPECT_EQ(rowsum->task.name, "rowsum");
  EXPECT_EQ(rowsum->task.licence, "Apache-2.0");
}

TEST(DatasetTraces, HaveTheAnswersCodeAndItsVerdict) {
  Yield yield = kernels_at(source_file("examples/dataset/trace.jsonl"));
  ASSERT_FALSE(yield.jobs.empty()) << yield.broken;
  for (const Job& job : yield.jobs) {
    EXPECT_THAT(job.candidate.code, HasSubstr("def triton_kernel_wrapper")) << job.id;
    EXPECT_THAT(job.candidate.code, Not(HasSubstr("<triton>"))) << job.id;
    ASSERT_TRUE(job.recorded) << job.id;
    EXPECT_TRUE(job.recorded->correctness);
  }
}

TEST(DatasetTraces, AVerdictThatDoesNotCountIsNone) {
  Folder folder;
  auto text = read_file(source_file("examples/dataset/trace.jsonl"));
  auto row = parse_json(text->substr(0, text->find('\n')))->as_object();
  row["verdict"].as_object()["counts"] = false;
  Yield yield = kernels_at(folder.write("trace.jsonl", line_of(row)));
  ASSERT_EQ(yield.jobs.size(), 1U);
  EXPECT_FALSE(yield.jobs[0].recorded);
}

TEST(DatasetTraces, OfAnotherPromptAreBadRows) {
  Folder folder;
  Yield yield = tasks_at(
      folder.write("trace.jsonl",
                   R"({"prompt": "The reference:\n\n```python\nx\n", "completion": "c", "kind": "trace"})"));
  ASSERT_EQ(yield.errors.size(), 1U);
  EXPECT_THAT(yield.errors[0].what, HasSubstr("shows no reference"));
}

TEST(DatasetPairs, AreATaskAndItsKernel) {
  Folder folder;
  auto path = folder.write("torch2triton.jsonl", line_of(pair_row()));
  Yield tasks = tasks_at(path);
  ASSERT_EQ(tasks.jobs.size(), 1U) << (tasks.errors.empty() ? tasks.broken : tasks.errors[0].what);
  const Task& task = tasks.jobs[0].task;
  EXPECT_EQ(task.entry_point, "double_ref");
  EXPECT_EQ(task.sample_key, "torch2triton_0123456789ab");
  EXPECT_EQ(task.licence, "MIT");
  EXPECT_EQ(task.repo, "https://example.org/r");
  EXPECT_TRUE(task.reference_code.ends_with("def double_ref(x):\n    return _twice(x)\n"));
  Yield kernels = kernels_at(path);
  ASSERT_EQ(kernels.jobs.size(), 1U) << kernels.broken;
  EXPECT_EQ(kernels.jobs[0].task.task_id, task.task_id);
  EXPECT_EQ(kernels.jobs[0].candidate.entry, "double");
  EXPECT_EQ(kernels.jobs[0].carried.at("row_id"), "0123456789abcdef");
  EXPECT_THAT(callable_solution(kernels.jobs[0].candidate),
              testing::EndsWith("return x\n\n\ntriton_kernel_wrapper = double\n"));
}

TEST(DatasetPairs, WithoutInputsAreBadRows) {
  Folder folder;
  auto row = pair_row();
  row.erase("input_shapes");
  auto misnamed = pair_row();
  misnamed["input_shapes"] = {{"y", {{"shape", {4}}}}};
  Yield yield = tasks_at(folder.write("torch2triton.jsonl", line_of(row) + line_of(misnamed)));
  ASSERT_EQ(yield.errors.size(), 2U);
  EXPECT_THAT(yield.errors[0].remedy, HasSubstr("input_shapes"));
  EXPECT_THAT(yield.errors[1].what, HasSubstr("`y` is not a parameter"));
}

TEST(DatasetPairs, MayMakeTheirOwnInputs) {
  Folder folder;
  auto row = pair_row();
  row.erase("input_shapes");
  std::string prompt(row["prompt"].as_string());
  row["prompt"] =
      prompt.substr(0, prompt.rfind("```")) + "\ndef get_inputs():\n    return [torch.ones(4)]\n```\n";
  Yield yield = tasks_at(folder.write("torch2triton.jsonl", line_of(row)));
  ASSERT_EQ(yield.jobs.size(), 1U);
  EXPECT_EQ(yield.jobs[0].task.entry_point, "double_ref");
}

TEST(DatasetRows, OfASetAreTakenWhereTheyHaveReferences) {
  Folder folder;
  auto fim = pair_row();
  fim["kind"] = "fim";
  folder.write("fim.jsonl", line_of(fim));
  folder.write("fim_sft.meta.jsonl", R"({"id": "a", "kind": "torch2triton"})");
  folder.write("ANALYSIS.json", R"({"rows": 1})");
  folder.write("torch2triton.jsonl", line_of(pair_row()));
  Yield yield = tasks_at(folder.path());
  EXPECT_THAT(yield.keys(), ElementsAre("torch2triton_0123456789ab")) << yield.broken;
  EXPECT_TRUE(yield.errors.empty());
  Yield refused = tasks_at(folder.path("fim.jsonl"));
  EXPECT_THAT(refused.broken, HasSubstr("fields of row 1"));
  EXPECT_THAT(refused.remedy, HasSubstr("rows trace and torch2triton of a data set"));
}

TEST(DatasetRows, HaveAnIdOfTheirOwnEach) {
  Folder folder;
  Yield yield = kernels_at(folder.write("torch2triton.jsonl", line_of(pair_row()) + line_of(pair_row())));
  ASSERT_EQ(yield.jobs.size(), 2U);
  EXPECT_EQ(yield.jobs[1].id, yield.jobs[0].id + "~2");
  EXPECT_EQ(yield.jobs[1].sample_number, 1U);
}

}  // namespace
}  // namespace kw
