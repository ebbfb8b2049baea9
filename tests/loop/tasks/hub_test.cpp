// KernelBook and KernelBench from a cache like the hub library's. The hub itself is never asked.
#include "loop/tasks/select_tasks.h"

#include "task_world.h"

namespace kw {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Hub : public testing::Test {
 protected:
  void SetUp() override {
    if (!python_has("huggingface_hub, pyarrow")) GTEST_SKIP() << "no huggingface_hub in " << test_python();
    ::setenv("HF_HUB_CACHE", folder.path("cache").c_str(), 1);
    ::setenv("HF_HUB_OFFLINE", "1", 1);
  }
  void TearDown() override {
    ::unsetenv("HF_HUB_CACHE");
    ::unsetenv("HF_HUB_OFFLINE");
  }
  void fill_cache() {
    std::string script = source_file("tests/loop/tasks/make_hub_cache.py");
    ASSERT_EQ(std::system(("\"" + test_python() + "\" " + script + " " + folder.path("cache")).c_str()), 0);
  }
  Folder folder;
};

TEST_F(Hub, IsWhereTasksComeFromWhenNothingIsNamed) {
  fill_cache();
  TaskSelection options;
  options.kernelbook_samples = 2;
  options.kernelbench_samples = 4;
  Yield yield = tasks_of(options);
  EXPECT_THAT(yield.task_ids(), ElementsAre("kernelbook/0", "kernelbook/1", "kernelbench/1/1",
                                            "kernelbench/2/1", "kernelbench/3/1", "kernelbench/4/1"))
      << yield.broken;
  EXPECT_EQ(yield.jobs[0].task.licence, "MIT");
}
TEST_F(Hub, WithDefaultCountsGivesAllThatThereIs) {
  fill_cache();
  EXPECT_EQ(tasks_of({}).jobs.size(), 12U + 13U);
}
TEST_F(Hub, OfTheLevelsAskedFor) {
  fill_cache();
  TaskSelection options;
  options.kernelbench = "hub";
  options.levels = {3, 4};
  EXPECT_THAT(tasks_of(options).task_ids(),
              ElementsAre("kernelbench/3/1", "kernelbench/3/2", "kernelbench/4/1"));
}
TEST_F(Hub, WithoutACopySaysWhatToCopyWhere) {
  Yield yield = tasks_of({});
  EXPECT_THAT(yield.broken, AllOf(HasSubstr("GPUMODE/KernelBook"), HasSubstr("HF_HUB_OFFLINE")));
  EXPECT_THAT(yield.remedy, AllOf(HasSubstr("hf download GPUMODE/KernelBook --repo-type dataset"),
                                  HasSubstr(folder.path("cache/datasets--GPUMODE--KernelBook")),
                                  HasSubstr("--kernelbook FILE")));
}
TEST_F(Hub, IsNotAskedForASourceThatIsOff) {
  TaskSelection options;
  options.kernelbook_samples = 0;
  EXPECT_THAT(tasks_of(options).broken, HasSubstr("ScalingIntelligence/KernelBench"));
}
TEST_F(Hub, WithoutPythonSaysSo) {
  auto files = hub_files({"kernelbook", "", {}}, {});
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().remedy, HasSubstr("--kernelbook"));
}

TEST(HubRevision, IsWhatFollowsTheSign) {
  EXPECT_EQ(hub_revision("hub"), "");
  EXPECT_EQ(hub_revision("hub@v0.1"), "v0.1");
  EXPECT_EQ(hub_revision("hubs/file.parquet"), std::nullopt);
}

}  // namespace
}  // namespace kw
