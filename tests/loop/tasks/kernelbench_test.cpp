#include "loop/tasks/kernelbench.h"
#include "loop/tasks/kernelbench_results.h"

#include <gtest/gtest.h>

#include "base/core/files.h"
#include "base/core/json.h"
#include "loop/tasks/formats.h"
#include "task_world.h"

namespace kw {
namespace {

TEST(KernelBench, ACheckoutsProblems) {
  Folder folder;
  folder.write("KernelBench/level1/19_ReLU.py", "relu");
  folder.write("KernelBench/level2/9_Matmul.py", "matmul");
  folder.write("KernelBench/level2/README.md", "");
  auto tasks = KernelBenchTasks::from_checkout(folder.path());
  ASSERT_TRUE(tasks);
  EXPECT_EQ(tasks->keys(), (std::vector<KernelBenchTasks::Key>{{1, 19}, {2, 9}}));
  EXPECT_EQ(tasks->find(1, 19)->task_id, "kernelbench/1/19");
  EXPECT_EQ(tasks->find(1, 19)->reference_code, "relu");
}
TEST(KernelBench, OneLevelsFolderItself) {
  Folder folder;
  folder.write("level3/1_A.py", "a");
  auto tasks = KernelBenchTasks::from_checkout(folder.path("level3"));
  ASSERT_TRUE(tasks);
  EXPECT_TRUE(tasks->find(3, 1));
}
TEST(KernelBench, ATable) {
  Folder folder;
  auto path = folder.write("t.jsonl", R"({"code":"c","level":1,"name":"19_ReLU","problem_id":19.0})"
                                      "\n{\"code\":1}\n");
  auto tasks = KernelBenchTasks::open(path, {});
  ASSERT_TRUE(tasks);
  EXPECT_EQ(tasks->find(1, 19)->reference_code, "c");
  EXPECT_EQ(tasks->errors().size(), 1U);
}
TEST(KernelBench, NamesOfKernels) {
  EXPECT_EQ(run_kernel_of("x/level_1_problem_19_sample_3_kernel.py")->sample_id, 3);
  EXPECT_FALSE(run_kernel_of("level_1_problem_19_kernel.py"));
}
TEST(KernelBench, ARunOnItsTasks) {
  Folder folder;
  folder.write("kb/level1/19_ReLU.py", "relu");
  folder.write("runs/mine/level_1_problem_19_sample_0_kernel.py", "k");
  folder.write("runs/mine/level_1_problem_20_sample_0_kernel.py", "k");
  OpenOptions options;
  options.kernelbench = folder.path("kb");
  for (const char* run : {"runs", "runs/mine"}) {
    Yield yield = drain(open_source(folder.path(run), options));
    ASSERT_EQ(yield.jobs.size(), 1U) << yield.broken;
    EXPECT_EQ(yield.jobs[0].id, "level_1_problem_19_sample_0");
    ASSERT_EQ(yield.errors.size(), 1U);
    EXPECT_NE(yield.errors[0].what.find("problem 20"), std::string::npos);
  }
}
TEST(KernelBench, ARunWithoutTasksSaysWhatToGive) {
  Folder folder;
  folder.write("level_1_problem_19_sample_0_kernel.py", "k");
  auto source = open_source(folder.path(), {});
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().remedy.find("--kernelbench"), std::string::npos);
}

// The kernels of the folder "mine" on the tasks of "kb": "ID TASK", and the errors.
std::string judged(const Folder& folder, const std::string& tasks = "kb") {
  OpenOptions options;
  options.kernelbench = folder.path(tasks);
  Yield yield = drain(open_source(folder.path("mine"), options));
  std::string text = yield.broken;
  for (const Job& job : yield.jobs) text += job.id + " " + job.task.task_id + "; ";
  for (const RowError& error : yield.errors) text += error.what + "; ";
  return text;
}

TEST(KernelBench, KernelsWithTheNamesOfProblems) {
  Folder folder;
  folder.write("kb/level1/19_ReLU.py", "relu");
  folder.write("kb/level1/20_LeakyReLU.py", "leaky");
  for (const char* name : {"19_ReLU.py", "20.py", "LeakyReLU.md", "19_by_me.txt"})
    folder.write("mine/" + std::string(name), "k");
  EXPECT_EQ(judged(folder),
            "19_ReLU kernelbench/1/19; 19_by_me kernelbench/1/19; 20 kernelbench/1/20; LeakyReLU "
            "kernelbench/1/20; ");
}
TEST(KernelBench, KernelsInFoldersOfLevels) {
  Folder folder;
  folder.write("kb/level1/1_A.py", "a");
  folder.write("kb/level2/1_B.py", "b");
  folder.write("mine/level2/1_mine.py", "k");
  EXPECT_EQ(judged(folder), "level2/1_mine kernelbench/2/1; ");
}
TEST(KernelBench, AKernelOfNoOrOfSeveralProblems) {
  Folder folder;
  folder.write("kb/level1/1_A.py", "a");
  folder.write("kb/level2/1_B.py", "b");
  folder.write("mine/1.py", "k");
  folder.write("mine/1_B.py", "k");
  folder.write("mine/7.py", "k");
  EXPECT_EQ(judged(folder), "1_B kernelbench/2/1; 2 problems of " + folder.path("kb") + " fit the name 1; " +
                                folder.path("kb") + " has no problem for the name 7; ");
}

KernelBenchResult result(int sample, Status status, Stage stage) {
  KernelBenchResult result{1, 19, sample, {}};
  result.verdict.status = status;
  result.verdict.stage = stage;
  return result;
}

TEST(KernelBenchResults, HaveKernelBenchsForm) {
  Folder folder;
  KernelBenchResult right = result(0, Status::correct, Stage::done);
  right.verdict.kernel_time_ms = 0.5;
  right.verdict.timing.kernel_samples_ms = {0.4, 0.6};
  ASSERT_TRUE(write_kernelbench_results(folder.path(), {right}));
  auto file = parse_json(*read_file(folder.path("eval_results.json")));
  ASSERT_TRUE(file);
  const auto& entry = file->at("19").at(0);
  EXPECT_EQ(entry.at("compiled"), true);
  EXPECT_EQ(entry.at("correctness"), true);
  EXPECT_EQ(entry.at("runtime"), 0.5);
  EXPECT_EQ(entry.at("runtime_stats").at("num_trials"), 2);
}
TEST(KernelBenchResults, KeepOtherSamplesAndReplaceTheirOwn) {
  Folder folder;
  ASSERT_TRUE(write_kernelbench_results(
      folder.path(), {result(0, Status::failed, Stage::compile), result(1, Status::correct, Stage::done)}));
  ASSERT_TRUE(write_kernelbench_results(folder.path(), {result(0, Status::correct, Stage::done)}));
  auto file = parse_json(*read_file(folder.path("eval_results.json")));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->at("19").as_array().size(), 2U);
  EXPECT_EQ(file->at("19").at(0).at("correctness"), true);
}
TEST(KernelBenchResults, OneFileALevelWhereThereAreSeveral) {
  Folder folder;
  KernelBenchResult other = result(0, Status::correct, Stage::done);
  other.level = 2;
  ASSERT_TRUE(write_kernelbench_results(folder.path(), {result(0, Status::correct, Stage::done), other}));
  EXPECT_TRUE(std::filesystem::exists(folder.path("eval_results_level_2.json")));
}

TEST(KernelBenchResults, AFileOfAnotherFormIsRenamed) {
  Folder folder;
  for (const char* text : {"not JSON", R"({"19": 5})", R"({"notes": []})", "[1]", "\xff"}) {
    folder.write("eval_results.json", text);
    auto renamed = write_kernelbench_results(folder.path(), {result(0, Status::correct, Stage::done)});
    ASSERT_TRUE(renamed) << text;
    ASSERT_EQ(renamed->size(), 1U) << text;
    EXPECT_EQ(*read_file(renamed->front()), text);
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path("eval_results.json.5")));
  auto again = write_kernelbench_results(folder.path(), {result(1, Status::correct, Stage::done)});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
}

TEST(KernelBenchResults, OldFilesHaveOneSampleWithoutAList) {
  Folder folder;
  folder.write("eval_results.json", R"({"19": {"sample_id": 3, "correctness": true}})");
  ASSERT_TRUE(write_kernelbench_results(folder.path(), {result(0, Status::correct, Stage::done)}));
  auto file = parse_json(*read_file(folder.path("eval_results.json")));
  EXPECT_EQ(file->at("19").as_array().size(), 2U);
}

KernelBenchVerdicts read_back(const std::string& text, const std::string& name = "eval_results.json") {
  Folder folder;
  folder.write(name, text);
  auto found = read_kernelbench_results(folder.path(name));
  EXPECT_TRUE(found && *found);
  return found && *found ? std::move(**found) : KernelBenchVerdicts();
}

TEST(KernelBenchResults, AreReadAsVerdictsOfAnotherEvaluator) {
  auto found = read_back(R"({
    "20": [{"sample_id": 0, "compiled": false, "correctness": false, "metadata": {"compilation_error": ["no"]},
            "runtime": -1.0, "runtime_stats": {}}],
    "19": [{"sample_id": 1, "compiled": true, "correctness": true, "metadata": {"hardware": "H100"},
            "runtime": 0.5, "runtime_stats": {}, "ref_runtime": 1.0}]})",
                         "eval_results_level_2.json");
  ASSERT_EQ(found.verdicts.size(), 2U);
  const Verdict& right = found.verdicts[0];
  EXPECT_EQ(right.id, "level_2_problem_19_sample_1");
  EXPECT_EQ(right.task_id, "kernelbench/2/19");
  EXPECT_EQ(right.status, Status::correct);
  EXPECT_FALSE(right.counts);
  EXPECT_FALSE(right.trust);
  EXPECT_EQ(right.speedup, 2.0);
  EXPECT_EQ(right.environment.gpu, "H100");
  EXPECT_EQ(right.further.at("recorded_by"), "kernelbench");
  EXPECT_FALSE(correct_and_counts(right));
  EXPECT_EQ(found.verdicts[1].error_class, ErrorClass::compile_error);
  EXPECT_EQ(found.verdicts[1].error, R"(["no"])");
}

TEST(KernelBenchResults, TheLevelIsThatOfTheKernelsBesideThem) {
  Folder folder;
  folder.write("eval_results.json", R"({"19": [{"sample_id": 0, "correctness": true}]})");
  EXPECT_EQ((*read_kernelbench_results(folder.path("eval_results.json")))->verdicts[0].task_id,
            "kernelbench/?/19");
  folder.write("level_3_problem_19_sample_0_kernel.py", "k");
  EXPECT_EQ((*read_kernelbench_results(folder.path("eval_results.json")))->verdicts[0].task_id,
            "kernelbench/3/19");
}

TEST(KernelBenchResults, ABadSampleDoesNotHideTheOthers) {
  auto found = read_back(R"({"1": [5, {"sample_id": 0}, {"sample_id": -1, "correctness": true},
                             {"sample_id": 2, "correctness": true, "runtime": "fast", "metadata": 7}], "2": null})");
  EXPECT_EQ(found.verdicts.size(), 1U);
  EXPECT_EQ(found.bad_rows.size(), 4U);
}

TEST(KernelBenchResults, FilesOfAnotherFormAreNone) {
  Folder folder;
  for (const char* text : {"", "[]", "{}", R"({"a": 1})", "\xff", R"({"1")", R"({"1": [], "notes": 1})"}) {
    folder.write("x.json", text);
    auto found = read_kernelbench_results(folder.path("x.json"));
    EXPECT_FALSE(found && *found) << text;
  }
  folder.write("x.json", R"({"1": [)");
  EXPECT_FALSE(read_kernelbench_results(folder.path("x.json")));
}

TEST(KernelBenchResults, WrittenResultsAreReadBack) {
  Folder folder;
  KernelBenchResult skipped = result(0, Status::skipped, Stage::prepare);
  skipped.verdict.error_class = ErrorClass::too_large;
  ASSERT_TRUE(write_kernelbench_results(folder.path(), {skipped}));
  auto found = read_kernelbench_results(folder.path("eval_results.json"));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->verdicts[0].status, Status::skipped);
  EXPECT_EQ((*found)->verdicts[0].stage, Stage::prepare);
  EXPECT_EQ((*found)->verdicts[0].error_class, ErrorClass::too_large);
}

}  // namespace
}  // namespace kw
