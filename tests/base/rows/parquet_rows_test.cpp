// Parquet as rows of prompt and completion, through the helper.
#include <gmock/gmock.h>

#include "rows_world.h"

namespace kw::table {
namespace {

using testing::HasSubstr;

struct Parquet : testing::Test {
  void SetUp() override {
    static const bool here = python_has("pyarrow");
    if (!here) GTEST_SKIP() << "this Python has no pyarrow";
    options.parquet = {test_python(), source_file("python/kernelwright/_dataset/parquet_rows.py")};
    options.spill = folder.path("spill");
  }
  Seen read(const std::string& table) {
    std::string path = folder.path("t.parquet");
    std::string script =
        folder.write("make.py", "import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table(" +
                                    table + "), '" + path + "')\n");
    EXPECT_EQ(std::system(("\"" + test_python() + "\" " + script).c_str()), 0);
    return read_all(path, options);
  }
  Folder folder;
  ReadOptions options;
};

TEST_F(Parquet, RowsAreReadAndReadAgain) {
  Seen seen = read(
      "{'prompt': ['p%d' % i for i in range(300)], 'completion': ['c\\n'] * 300, 'n': list(range(300))}");
  ASSERT_EQ(seen.good.size(), 300U) << seen.broken.what;
  EXPECT_EQ(seen.good[299].prompt, "p299");
  EXPECT_EQ(seen.rows->at(123)->prompt, "p123");
  EXPECT_EQ(seen.rows->at(123)->rest.at("n").as_int64(), 123);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("spill")));
}

TEST_F(Parquet, MissingColumnsAreNamedBeforeAnyRow) {
  EXPECT_THAT(read("{'a': [1]}").broken.what, HasSubstr("it has a"));
}

TEST_F(Parquet, MessagesAreJoined) {
  Seen seen = read("{'prompt': [[{'role': 'user', 'content': 'u'}]], 'completion': ['c']}");
  ASSERT_EQ(seen.good.size(), 1U);
  EXPECT_EQ(seen.good[0].prompt, "u");
}

TEST_F(Parquet, AFileThatIsNoneIsAnError) {
  EXPECT_THAT(read_all(folder.write("x.parquet", "not this"), options).broken.what, HasSubstr("x.parquet"));
}

}  // namespace
}  // namespace kw::table
