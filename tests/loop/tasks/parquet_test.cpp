#include <gtest/gtest.h>

#include <cstdlib>

#include "loop/tasks/formats.h"
#include "loop/tasks/kernelbench.h"
#include "task_world.h"

namespace kw {
namespace {

const ParquetHelper helper = test_helper();

class Parquet : public testing::Test {
 protected:
  void SetUp() override {
    if (!python_has("pyarrow")) GTEST_SKIP() << "no pyarrow in " << test_python();
  }
  // A table of these columns, written by pyarrow.
  std::string table(const std::string& columns) {
    std::string path = folder.path("t.parquet");
    std::string script = folder.write("make.py",
                                      "import pyarrow as pa, pyarrow.parquet as pq\n"
                                      "pq.write_table(pa.table(" +
                                          columns + "), '" + path + "')\n");
    EXPECT_EQ(std::system(("\"" + test_python() + "\" " + script).c_str()), 0);
    return path;
  }
  Folder folder;
};

TEST_F(Parquet, KernelBenchWithBytesAndNan) {
  auto path =
      table("{'code': [b'a', b'b'], 'level': [1.0, float('nan')], 'name': ['x', 'y'], 'problem_id': [3, 4]}");
  auto tasks = KernelBenchTasks::open(path, helper);
  ASSERT_TRUE(tasks) << tasks.error().what;
  EXPECT_EQ(tasks->find(1, 3)->reference_code, "a");
  EXPECT_EQ(tasks->errors().size(), 1U);
}
TEST_F(Parquet, KernelBook) {
  auto path = table(
      "{'python_code': ['p'], 'triton_code': ['t'], 'entry_point': ['Net'], 'uuid': [66], 'licenses': "
      "[['MIT']],"
      " 'repo_link': ['https://example.org/r']}");
  OpenOptions options;
  options.helper = helper;
  Yield yield = drain(open_source(path, options));
  ASSERT_EQ(yield.jobs.size(), 1U) << yield.broken;
  EXPECT_EQ(yield.jobs[0].task.task_id, "kernelbook/66");
  EXPECT_EQ(yield.jobs[0].task.licence, "MIT");
}
TEST_F(Parquet, AFileThatIsNone) {
  OpenOptions options;
  options.helper = helper;
  EXPECT_NE(drain(open_source(folder.write("x.parquet", "not this"), options)).broken.find("Parquet"),
            std::string::npos);
}

}  // namespace
}  // namespace kw
