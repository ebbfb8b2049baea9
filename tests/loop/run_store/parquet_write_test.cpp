// Rows → Parquet → rows, by the helpers themselves.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/core/files.h"
#include "support/home.h"
#include "support/world.h"

namespace kw {
namespace {

int helper(const std::string& script, const std::string& rest) {
  return std::system(
      ("\"" + test_python() + "\" " + source_file("python/kernelwright/_dataset/" + script) + " " + rest)
          .c_str());
}

struct ParquetWrite : testing::Test {
  void SetUp() override {
    if (!python_has("pyarrow")) GTEST_SKIP() << "this Python has no pyarrow";
  }
  Folder folder;
};

TEST_F(ParquetWrite, RowsComeBackAsTheyWere) {
  std::string rows = R"({"messages": [{"role": "user", "content": "a\u0000b"}], "speedup": null})"
                     "\n"
                     R"({"messages": [{"role": "assistant", "content": "c"}], "speedup": 1.5})"
                     "\n";
  std::string in = folder.write("rows.jsonl", rows);
  std::string out = folder.path("rows.parquet");
  ASSERT_EQ(helper("parquet_write.py", in + " " + out), 0);
  ASSERT_EQ(helper("parquet_rows.py", out + " > " + folder.path("back.jsonl")), 0);
  EXPECT_EQ(*read_file(folder.path("back.jsonl")), rows);
}

TEST_F(ParquetWrite, AColumnOfNullsAloneHasItsType) {
  std::string in = folder.write("rows.jsonl", R"({"speedup": null, "licence": null, "counts": null})"
                                              "\n");
  std::string out = folder.path("rows.parquet");
  ASSERT_EQ(helper("parquet_write.py", in + " " + out), 0);
  std::string look =
      "import sys, pyarrow.parquet as p; print([str(t) for t in p.read_schema(sys.argv[1]).types])";
  ASSERT_EQ(
      std::system(
          ("\"" + test_python() + "\" -c \"" + look + "\" " + out + " > " + folder.path("types")).c_str()),
      0);
  EXPECT_EQ(*read_file(folder.path("types")), "['double', 'string', 'bool']\n");
}

TEST_F(ParquetWrite, AFileWithoutRowsIsAnErrorAndLeavesNothing) {
  std::string in = folder.write("rows.jsonl", "\n");
  EXPECT_NE(helper("parquet_write.py", in + " " + folder.path("out.parquet") + " 2> " + folder.path("why")),
            0);
  EXPECT_NE(read_file(folder.path("why"))->find("has no rows"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path("out.parquet")));
}

}  // namespace
}  // namespace kw
