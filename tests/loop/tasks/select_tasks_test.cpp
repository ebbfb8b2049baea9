// Combined sources: sampling, filters, order.
#include "task_world.h"

namespace kw {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

TEST(SelectTasks, TakeTheFirstOfKernelBookAndTheFirstOfEachLevel) {
  Folder folder;
  write_checkout(folder, {4, 1, 4});
  TaskSelection options;
  options.kernelbook = folder.write("k.jsonl", kernelbook_rows(5));
  options.kernelbench = folder.path();
  options.kernelbook_samples = 2;
  options.kernelbench_samples = 6;
  EXPECT_THAT(tasks_of(options).task_ids(),
              ElementsAre("kernelbook/0", "kernelbook/1", "kernelbench/1/1", "kernelbench/1/2",
                          "kernelbench/1/3", "kernelbench/2/1", "kernelbench/3/1", "kernelbench/3/2"));
}
TEST(SelectTasks, OfOneSourceAlonePassOverTheOther) {
  Folder folder;
  write_checkout(folder, {2});
  TaskSelection options;
  options.kernelbench = folder.path();
  Yield yield = tasks_of(options);
  EXPECT_THAT(yield.keys(), ElementsAre("kernelbench_1", "kernelbench_2"));
  EXPECT_EQ(yield.jobs[0].task.problem_id, "1");
}
TEST(SelectTasks, OfTheLevelsAskedFor) {
  Folder folder;
  write_checkout(folder, {2, 2, 2});
  TaskSelection options;
  options.kernelbench = folder.path();
  options.levels = {2, 3};
  options.kernelbench_samples = 2;
  EXPECT_THAT(tasks_of(options).task_ids(), ElementsAre("kernelbench/2/1", "kernelbench/3/1"));
}
TEST(SelectTasks, OfTheLevelsAskedForFromTraces) {
  Folder folder;
  TaskSelection options;
  options.traces = folder.write(
      "t.json", R"([{"sample_key":"kernelbench_1","level":1,"source":"kernelbench","pytorch_code":"r"},)"
                R"({"sample_key":"kernelbench_2","level":2,"source":"kernelbench","pytorch_code":"r"},)"
                R"({"sample_key":"other","pytorch_code":"s"}])");
  options.levels = {2};
  EXPECT_THAT(tasks_of(options).keys(), ElementsAre("kernelbench_2", "other"));
}
TEST(SelectTasks, ZeroSwitchesASourceOff) {
  Folder folder;
  TaskSelection options;
  options.kernelbook = folder.write("k.jsonl", kernelbook_rows(1));
  options.kernelbook_samples = 0;
  EXPECT_THAT(tasks_of(options).broken, HasSubstr("switched off"));
}
TEST(SelectTasks, KernelBenchTablesOfAFolder) {
  if (!python_has("pyarrow")) GTEST_SKIP() << "no pyarrow in " << test_python();
  Folder folder;
  std::filesystem::create_directories(folder.path("kb/data"));
  auto script = folder.write(
      "make.py",
      "import pyarrow as pa, pyarrow.parquet as pq\nfor n in (1, 2):\n"
      "    pq.write_table(pa.table({'code': ['c'], 'level': [n], 'name': ['x'], 'problem_id': [3]}), '" +
          folder.path("kb/data/level_") + "%d-00000-of-00001.parquet' % n)\n");
  ASSERT_EQ(std::system(("\"" + test_python() + "\" " + script).c_str()), 0);
  TaskSelection options;
  options.kernelbench = folder.path("kb");
  EXPECT_THAT(tasks_of(options).task_ids(), ElementsAre("kernelbench/1/3", "kernelbench/2/3"));
}

TEST(SelectTasks, ShuffledAreASampleOfTheWholeTableByTheSeed) {
  Folder folder;
  TaskSelection options;
  options.kernelbook = folder.write("k.jsonl", kernelbook_rows(100));
  options.kernelbook_samples = 5;
  options.shuffle = true;
  EXPECT_THAT(tasks_of(options, 7).keys(), ElementsAre("kernelbook_23", "kernelbook_72", "kernelbook_60",
                                                       "kernelbook_32", "kernelbook_50"));
  EXPECT_NE(tasks_of(options, 7).keys(), tasks_of(options, 8).keys());
}
TEST(SelectTasks, ShuffledMixTheSources) {
  Folder folder;
  write_checkout(folder, {20});
  TaskSelection options;
  options.kernelbook = folder.write("k.jsonl", kernelbook_rows(20));
  options.kernelbench = folder.path();
  auto in_order = tasks_of(options).task_ids();
  options.shuffle = true;
  auto shuffled = tasks_of(options).task_ids();
  EXPECT_NE(shuffled, in_order);
  EXPECT_THAT(shuffled, UnorderedElementsAreArray(in_order));
  options.limit = 20;
  auto limited = tasks_of(options).task_ids();
  EXPECT_EQ(limited, std::vector<std::string>(shuffled.begin(), shuffled.begin() + 20));
  EXPECT_THAT(limited, testing::Contains(testing::StartsWith("kernelbook/")));
  EXPECT_THAT(limited, testing::Contains(testing::StartsWith("kernelbench/")));
}
TEST(SelectTasks, ShuffledAreEvenOverLevels) {
  Folder folder;
  write_checkout(folder, {20, 20});
  TaskSelection options;
  options.kernelbench = folder.path();
  options.kernelbench_samples = 6;
  options.shuffle = true;
  int first = 0;
  for (const std::string& id : tasks_of(options).task_ids())
    first += id.starts_with("kernelbench/1/") ? 1 : 0;
  EXPECT_EQ(first, 3);
}

TEST(SelectTasks, BySampleIdSearchTheWholeTable) {
  Folder folder;
  TaskSelection options;
  options.kernelbook = folder.write("k.jsonl", kernelbook_rows(9));
  options.kernelbook_samples = 1;
  options.sample_ids = {"kernelbook_8", "kernelbook/3"};
  Yield yield = tasks_of(options);
  EXPECT_THAT(yield.keys(), ElementsAre("kernelbook_3", "kernelbook_8"));
  EXPECT_THAT(yield.errors, IsEmpty());
}
TEST(SelectTasks, ASampleIdThatIsNowhereIsSaid) {
  Folder folder;
  TaskSelection options;
  options.kernelbook = folder.write("k.jsonl", kernelbook_rows(2));
  options.sample_ids = {"kernelbook_1", "kernelbook_99"};
  Yield yield = tasks_of(options);
  EXPECT_EQ(yield.jobs.size(), 1U);
  ASSERT_EQ(yield.errors.size(), 1U);
  EXPECT_THAT(yield.errors[0].what, HasSubstr("kernelbook_99"));
}
TEST(SelectTasks, NumbersDoNotDependOnSampleIds) {
  Folder folder;
  TaskSelection options;
  options.traces = folder.write("t.json", R"([{"sample_key":"a","pytorch_code":"r"},)"
                                          R"({"sample_key":"b","pytorch_code":"r"}])");
  options.sample_ids = {"b"};
  EXPECT_THAT(tasks_of(options).numbers(), ElementsAre(1));
}

TEST(SelectTasks, OfAFolderOfTablesComeByFile) {
  Folder folder;
  folder.write("a.jsonl", kernelbook_rows(1));
  folder.write("b.json", R"([{"sample_key":"kernelbook_0","pytorch_code":"r"}])");
  folder.write("c.jsonl", R"({"code":"c","level":1,"name":"n","problem_id":2})");
  Yield yield = tasks_at(folder.path());
  EXPECT_THAT(yield.task_ids(), ElementsAre("kernelbook/0", "kernelbook/0", "kernelbench/1/2"));
  EXPECT_THAT(yield.numbers(), ElementsAre(0, 1, 0));
}
TEST(SelectTasks, ARunsKernelsAreNoTasks) {
  Folder folder;
  folder.write("level_1_problem_19_sample_0_kernel.py", "k");
  EXPECT_THAT(tasks_at(folder.path()).remedy, HasSubstr("--kernelbench"));
}
TEST(SelectTasks, APathThatIsNotThere) {
  EXPECT_THAT(tasks_at("/none/there").broken, HasSubstr("does not exist"));
}

}  // namespace
}  // namespace kw
