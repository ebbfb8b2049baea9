// Tasks from rows: KernelBook, recorded traces, batches.
#include <set>

#include "base/core/files.h"
#include "base/core/json.h"
#include "task_world.h"

namespace kw {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(KernelBookTasks, HaveTheReferenceAndWhereItComesFrom) {
  Folder folder;
  auto path =
      folder.write("k.jsonl", R"({"python_code":"p","entry_point":"Net","uuid":1174,"module_name":"Net",)"
                              R"("licenses":["MIT"],"repo_link":"https://example.org/r"})");
  Yield yield = tasks_at(path);
  ASSERT_EQ(yield.jobs.size(), 1U) << yield.broken;
  const Task& task = yield.jobs[0].task;
  EXPECT_EQ(task.task_id, "kernelbook/1174");
  EXPECT_EQ(sample_key(task), "kernelbook_1174");
  EXPECT_EQ(task.reference_code, "p");
  EXPECT_EQ(task.entry_point, "Net");
  EXPECT_EQ(task.licence, "MIT");
  EXPECT_EQ(task.repo, "https://example.org/r");
}
TEST(KernelBookTasks, BadRowsDoNotStopGoodOnes) {
  Folder folder;
  auto path = folder.write("k.jsonl",
                           "{\"python_code\":\"p\",\"triton_code\":\"t\",\"uuid\":1}\n"
                           "{\"python_code\":null,\"triton_code\":\"t\",\"uuid\":2}\nnot json\n"
                           "{\"python_code\":\" \",\"triton_code\":\"t\",\"uuid\":3}\n"
                           "{\"python_code\":\"q\",\"triton_code\":\"t\",\"uuid\":4}\n");
  Yield yield = tasks_at(path);
  EXPECT_THAT(yield.keys(), ElementsAre("kernelbook_1", "kernelbook_4"));
  ASSERT_EQ(yield.errors.size(), 3U);
  EXPECT_EQ(yield.errors[2].row, 4U);
}
TEST(KernelBookTasks, AreAsManyAsTheTableHasAtMost) {
  if (!python_has("pyarrow")) GTEST_SKIP() << "no pyarrow in " << test_python();
  Folder folder;
  auto script =
      folder.write("make.py",
                   "import pyarrow as pa, pyarrow.parquet as pq\n"
                   "pq.write_table(pa.table({'python_code': ['p'] * 3, 'triton_code': ['t'] * 3}), '" +
                       folder.path("t.parquet") + "')\n");
  ASSERT_EQ(std::system(("\"" + test_python() + "\" " + script).c_str()), 0);
  TaskSelection options;
  options.paths = {folder.path("t.parquet")};
  auto source = select_tasks(options, 0, test_helper());
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->total(), 3U);
  EXPECT_THAT(drain(**source).keys(), ElementsAre("kernelbook_1", "kernelbook_2", "kernelbook_3"));
}
TEST(KernelBookTasks, OfOneUuidAreNumbered) {
  Folder folder;
  auto path = folder.write("k.jsonl", kernelbook_rows(1) + kernelbook_rows(2));
  Yield yield = tasks_at(path);
  EXPECT_THAT(yield.task_ids(), ElementsAre("kernelbook/0", "kernelbook/0", "kernelbook/1"));
  EXPECT_THAT(yield.numbers(), ElementsAre(0, 1, 0));
}
TEST(KernelBookTasks, FromParquetWithoutTheColumnsThatMayLack) {
  if (!python_has("pyarrow")) GTEST_SKIP() << "no pyarrow in " << test_python();
  Folder folder;
  auto script = folder.write("make.py",
                             "import pyarrow as pa, pyarrow.parquet as pq\n"
                             "pq.write_table(pa.table({'python_code': ['p'], 'triton_code': ['t'], "
                             "'uuid': [66]}), '" +
                                 folder.path("t.parquet") + "')\n");
  ASSERT_EQ(std::system(("\"" + test_python() + "\" " + script).c_str()), 0);
  TaskSelection options;
  for (const std::string& path : {folder.path("t.parquet"), folder.path()}) {
    options.kernelbook = path;
    Yield yield = tasks_of(options);
    EXPECT_THAT(yield.keys(), ElementsAre("kernelbook_66")) << yield.broken;
  }
}

std::string task_trace(const std::string& key, const std::string& code) {
  return R"({"sample_key":")" + key + R"(","pytorch_code":")" + code + R"("})";
}

TEST(TraceTasks, NeedNoKernels) {
  Folder folder;
  TaskSelection options;
  options.traces = folder.write("t.json", "[" + task_trace("kernelbook_7", "r") + "]");
  EXPECT_THAT(tasks_of(options).task_ids(), ElementsAre("kernelbook/7"));
}
TEST(TraceTasks, ThatComeAgainAreNumbered) {
  Folder folder;
  Yield yield =
      tasks_at(folder.write("t.json", "[" + task_trace("a", "r") + "," + task_trace("a", "r") + "]"));
  EXPECT_THAT(yield.numbers(), ElementsAre(0, 1));
  EXPECT_THAT(yield.keys(), ElementsAre("a", "a"));
}
TEST(TraceTasks, OfTheSampleHaveItsKeys) {
  for (const char* name : {"single_turn.json", "multi_turn.json"}) {
    auto path = source_file(std::string("examples/sample/") + name);
    std::vector<std::string> wanted;
    auto rows = parse_json(*read_file(path));
    for (const auto& row : rows->as_array()) wanted.emplace_back(row.at("sample_key").as_string());
    Yield yield = tasks_at(path);
    EXPECT_EQ(yield.keys(), wanted);
    for (const Job& item : yield.jobs) EXPECT_EQ("sample_" + item.task.name, sample_key(item.task));
  }
}

class RecordedTasks : public testing::TestWithParam<std::pair<const char*, std::size_t>> {};

TEST_P(RecordedTasks, HaveTheirKeysAndOneIdentityEach) {
  std::string path = recorded_file(GetParam().first);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the recorded completions are not at " << path;
  Yield yield = tasks_at(path);
  EXPECT_EQ(yield.jobs.size(), GetParam().second);
  std::set<std::pair<std::string, std::size_t>> identities;
  auto rows = parse_json(*read_file(path));
  for (std::size_t at = 0; at < yield.jobs.size(); ++at) {
    const Job& item = yield.jobs[at];
    identities.emplace(item.task.task_id, item.sample_number);
    EXPECT_EQ(sample_key(item.task), rows->at(at).at("sample_key").as_string());
    Task nameless = item.task;
    nameless.sample_key.clear();
    EXPECT_EQ(sample_key(nameless), sample_key(item.task)) << "made of source and id";
  }
  EXPECT_EQ(identities.size(), yield.jobs.size());
}

INSTANTIATE_TEST_SUITE_P(Traces, RecordedTasks,
                         testing::Values(std::pair{"recorded_glm45_single_turn.json", std::size_t{12}},
                                         std::pair{"recorded_qwen3_multi_turn.json", std::size_t{9}}));

TEST(BatchTasks, NeedReferencesOnly) {
  Folder folder;
  folder.write("ref.py", "from a file");
  Yield yield = tasks_at(folder.write(
      "b.jsonl",
      "{\"id\":\"one\",\"reference_code\":\"r\"}\n{\"id\":\"two\",\"reference_path\":\"ref.py\"}\n"
      "{\"id\":\"three\",\"reference_path\":\"none.py\"}\n"));
  EXPECT_THAT(yield.keys(), ElementsAre("one", "two"));
  EXPECT_EQ(yield.jobs[1].task.reference_code, "from a file");
  ASSERT_EQ(yield.errors.size(), 1U);
  EXPECT_THAT(yield.errors[0].what, HasSubstr("none.py"));
}

}  // namespace
}  // namespace kw
