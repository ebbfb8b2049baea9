#include <gtest/gtest.h>

#include "loop/tasks/readers.h"
#include "task_world.h"

namespace kw {
namespace {

TEST(Pairs, ByPrefixWithShapes) {
  Folder folder;
  folder.write("reference.py", "r");
  folder.write("kernel.py", "k");
  folder.write("add_reference.py", "def add(x): pass\n");
  folder.write("add_kernel.py", "ka");
  folder.write("add_shapes.json", R"({"x":{"shape":[4]}})");
  Yield yield = drain(*pair_source(folder.path()));
  ASSERT_EQ(yield.jobs.size(), 2U);
  EXPECT_EQ(yield.jobs[0].id, "add_kernel");
  EXPECT_FALSE(yield.jobs[0].task.input_shapes.empty());
  EXPECT_EQ(yield.jobs[1].id, "kernel");
  EXPECT_TRUE(yield.jobs[1].task.input_shapes.empty());
}
TEST(Pairs, SeveralKernelsOfOneReference) {
  Folder folder;
  folder.write("a/reference.py", "r");
  folder.write("a/kernel_1.py", "1");
  folder.write("a/kernel_2.md", "```python\n2\n```\n");
  Yield yield = drain(*pair_source(folder.path()));
  ASSERT_EQ(yield.jobs.size(), 2U);
  EXPECT_EQ(yield.jobs[1].id, "a/kernel_2");
  EXPECT_EQ(yield.jobs[1].sample_number, 1U);
  EXPECT_EQ(yield.jobs[1].candidate.code, "2\n");
}
TEST(Pairs, ACompletionIsTakenApart) {
  Folder folder;
  auto job = read_pair(folder.write("r.py", "r"), folder.write("k.txt", "<triton>k</triton>"), {});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->candidate.code, "k");
}
TEST(Pairs, AFoundEntryStandsInTheJobAsIfItHadBeenGiven) {
  Folder folder;
  std::string reference = folder.write("r.py", "def softmax(x): pass\n");
  std::string kernel = folder.write("k.py", "def fast(x): pass\n");
  auto found = read_pair(reference, kernel, {R"({"x":{"shape":[4]}})", "", ""});
  auto given = read_pair(reference, kernel, {R"({"x":{"shape":[4]}})", "softmax", "", "fast"});
  for (auto* job : {&found, &given})
    ASSERT_TRUE(*job && name_pair(**job, reference, kernel, true, "--input-shapes"));
  EXPECT_EQ(found->task.entry_point, given->task.entry_point);
  EXPECT_EQ(found->candidate.entry, given->candidate.entry);
  EXPECT_EQ(found->task.task_id, given->task.task_id);
}
TEST(Pairs, OfAFolderHaveTheirShapesChecked) {
  Folder folder;
  folder.write("reference.py", "def add(a, b): pass\n");
  folder.write("kernel.py", "def add(a, b): pass\n");
  folder.write("shapes.json", R"({"a":{"shape":[4]},"aa":{"shape":[4]}})");
  Yield yield = drain(*pair_source(folder.path()));
  ASSERT_EQ(yield.errors.size(), 1U);
  EXPECT_EQ(yield.errors[0].what, "shapes.json: `aa` is not a parameter of `add(a, b)`");
}
TEST(Pairs, BadShapesAreAnError) {
  Folder folder;
  EXPECT_FALSE(read_pair(folder.write("r.py", "r"), folder.write("k.py", "k"), {"[1]", "", ""}));
}

}  // namespace
}  // namespace kw
