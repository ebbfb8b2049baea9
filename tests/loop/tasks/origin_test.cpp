// The file and the line that each reader gives to a candidate and to its reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop/tasks/formats.h"
#include "loop/tasks/readers.h"
#include "task_world.h"

namespace kw {
namespace {

std::vector<Job> jobs_of(const std::string& path) {
  Yield yield = drain(open_source(path, {}));
  EXPECT_EQ(yield.broken, "");
  EXPECT_TRUE(yield.errors.empty());
  return yield.jobs;
}

void expect_origin(const Origin& origin, const std::string& path, std::size_t line, bool in_row) {
  EXPECT_EQ(origin.path, path);
  EXPECT_EQ(origin.line, line);
  EXPECT_EQ(origin.in_row, in_row);
}

TEST(Origin, APairKeepsItsPathsAsGiven) {
  Folder folder;
  const std::string reference = folder.write("r.py", "def f(x):\n    return x\n");
  const std::string kernel = folder.write("k.py", "def f(x):\n    return x\n");
  const auto job = read_pair(reference, kernel, {});
  ASSERT_TRUE(job);
  expect_origin(job->task.origin, reference, 1, false);
  expect_origin(job->candidate.origin, kernel, 1, false);
}
TEST(Origin, TheCodeOfAnAnswerBeginsAtItsFence) {
  Folder folder;
  folder.write("reference.py", "def f(x):\n    return x\n");
  folder.write("kernel.md", "Here it is:\n\n```python\ndef f(x):\n    return x\n```\n");
  const auto jobs = jobs_of(folder.path());
  ASSERT_EQ(jobs.size(), 1U);
  expect_origin(jobs[0].candidate.origin, folder.path() + "/kernel.md", 4, false);
}
TEST(Origin, CodeThatIsNoPartOfTheFileHasNoLine) {
  expect_origin(origin_in("k.md", "  x = 1\r\n", "x = 1\n"), "k.md", 0, false);
  expect_origin(origin_in("k.md", "text", ""), "k.md", 0, false);
}
TEST(Origin, ARowOfJsonLinesIsALine) {
  Folder folder;
  const std::string rows =
      folder.write("rows.jsonl", "\n{\"id\":\"a\",\"reference_code\":\"r\",\"kernel_code\":\"k\"}\n");
  const auto jobs = jobs_of(rows);
  ASSERT_EQ(jobs.size(), 1U);
  expect_origin(jobs[0].candidate.origin, rows, 2, true);
  expect_origin(jobs[0].task.origin, rows, 2, true);
}
TEST(Origin, ARowOfAListHasNoLine) {
  Folder folder;
  const std::string rows =
      folder.write("rows.json", R"([{"id":"a","reference_code":"r","kernel_code":"k"}])");
  const auto jobs = jobs_of(rows);
  ASSERT_EQ(jobs.size(), 1U);
  expect_origin(jobs[0].candidate.origin, rows, 0, false);
}
TEST(Origin, ARowThatNamesFilesPointsToThem) {
  Folder folder;
  folder.write("r.py", "import torch\n");
  folder.write("k.py", "import triton\n");
  const auto jobs =
      jobs_of(folder.write("rows.jsonl", R"({"id":"a","reference_path":"r.py","kernel_path":"k.py"})"));
  ASSERT_EQ(jobs.size(), 1U);
  expect_origin(jobs[0].task.origin, folder.path() + "/r.py", 1, false);
  expect_origin(jobs[0].candidate.origin, folder.path() + "/k.py", 1, false);
}
TEST(Origin, ARowOfTwoFilesFindsItsEntriesByName) {
  Folder folder;
  folder.write("r.py", "def add(x):\n    return x\n\n\ndef get_inputs():\n    return []\n");
  folder.write("k.py", "def add(x):\n    return x\n");
  const auto jobs =
      jobs_of(folder.write("rows.jsonl", R"({"id":"a","reference_path":"r.py","kernel_path":"k.py"})"));
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].task.entry_point, "add");
  EXPECT_EQ(jobs[0].candidate.entry, "add");
  EXPECT_EQ(jobs[0].task.task_id, hashed_task_id(jobs[0].task.reference_code, "", "add"));
}
TEST(Origin, EntriesThatARowNamesStay) {
  Folder folder;
  folder.write("r.py", "def add(x):\n    return x\n");
  folder.write("k.py", "def add(x):\n    return x\n");
  const auto jobs = jobs_of(folder.write(
      "rows.jsonl", R"({"id":"a","reference_path":"r.py","kernel_path":"k.py","entry_point":"other"})"));
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].task.entry_point, "other");
  EXPECT_EQ(jobs[0].candidate.entry, "");
}

}  // namespace
}  // namespace kw
