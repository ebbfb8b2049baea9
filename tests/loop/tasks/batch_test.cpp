#include <gtest/gtest.h>

#include "loop/tasks/formats.h"
#include "task_world.h"

namespace kw {
namespace {

const std::string good = R"({"id":"a","reference_code":"r","kernel_code":"k"})"
                         "\n";

Yield read(const Folder& folder, const std::string& lines) {
  OpenOptions options;
  options.kind = InputKind::batch;
  return drain(open_source(folder.write("rows.jsonl", lines), options));
}

// The error of a bad row between two good ones, which must be read.
RowError bad_row(const std::string& line) {
  Folder folder;
  Yield yield = read(folder, good + line + "\n" + R"({"id":"z","reference_code":"r","kernel_code":"k"})");
  EXPECT_EQ(yield.jobs.size(), 2U);
  EXPECT_EQ(yield.errors.size(), 1U);
  return yield.errors.empty() ? RowError{} : yield.errors.front();
}

TEST(Batch, AGoodRow) {
  Folder folder;
  Yield yield = read(folder, good);
  ASSERT_EQ(yield.jobs.size(), 1U);
  EXPECT_EQ(yield.jobs[0].id, "a");
  EXPECT_EQ(yield.jobs[0].task.reference_code, "r");
  EXPECT_EQ(yield.jobs[0].task.task_id, hashed_task_id("r", ""));
}
TEST(Batch, ARowMayNameBothEntries) {
  Folder folder;
  Yield yield = read(
      folder, R"({"id":1,"reference_code":"r","kernel_code":"k","entry_point":"Net","kernel_entry":"Fast"})");
  ASSERT_EQ(yield.jobs.size(), 1U);
  EXPECT_EQ(yield.jobs[0].task.entry_point, "Net");
  EXPECT_EQ(yield.jobs[0].candidate.entry, "Fast");
  EXPECT_TRUE(yield.jobs[0].carried.empty());
}
TEST(Batch, OtherFieldsAreCarried) {
  Folder folder;
  Yield yield = read(folder, R"({"id":1,"reference_code":"r","kernel_code":"k","mine":[1],"level":2})");
  ASSERT_EQ(yield.jobs.size(), 1U);
  EXPECT_EQ(yield.jobs[0].id, "1");
  EXPECT_EQ(yield.jobs[0].carried.size(), 2U);
  EXPECT_EQ(yield.jobs[0].task.level, "2");
}
TEST(Batch, PathsAreRelativeToTheFile) {
  Folder folder;
  folder.write("sub/r.py", "R");
  folder.write("sub/k.md", "text\n```python\nK\n```\n");
  OpenOptions options;
  Yield yield = drain(open_source(
      folder.write("sub/rows.jsonl", R"({"id":"a","reference_path":"r.py","kernel_path":"k.md"})"), options));
  ASSERT_EQ(yield.jobs.size(), 1U) << yield.broken;
  EXPECT_EQ(yield.jobs[0].task.reference_code, "R");
  EXPECT_EQ(yield.jobs[0].candidate.code, "K\n");
}
TEST(Batch, TheSampleNumberCountsATasksCandidates) {
  Folder folder;
  Yield yield = read(folder, good + R"({"id":"b","reference_code":"r","kernel_code":"k2"})");
  ASSERT_EQ(yield.jobs.size(), 2U);
  EXPECT_EQ(yield.jobs[0].sample_number, 0U);
  EXPECT_EQ(yield.jobs[1].sample_number, 1U);
}
TEST(Batch, TwoRowsOfOneIdAreAnError) {
  RowError error = bad_row(R"({"id":"a","reference_code":"r","kernel_code":"k"})");
  EXPECT_EQ(error.row, 2U);
  EXPECT_NE(error.what.find("row 1"), std::string::npos);
}
TEST(Batch, TruncatedJson) {
  EXPECT_NE(bad_row(R"({"id":"b",)").what.find("JSON"), std::string::npos);
}
TEST(Batch, AList) {
  EXPECT_NE(bad_row("[1]").what.find("object"), std::string::npos);
}
TEST(Batch, NotUtf8) {
  EXPECT_EQ(bad_row("{\"id\":\"\xff\"}").what, "not UTF-8");
}
TEST(Batch, NoId) {
  EXPECT_NE(bad_row(R"({"reference_code":"r","kernel_code":"k"})").what.find("id"), std::string::npos);
}
TEST(Batch, NoKernel) {
  EXPECT_NE(bad_row(R"({"id":"b","reference_code":"r"})").what.find("kernel_code"), std::string::npos);
}
TEST(Batch, AMissingFileIsNamed) {
  EXPECT_NE(bad_row(R"({"id":"b","reference_code":"r","kernel_path":"no/k.py"})").what.find("no/k.py"),
            std::string::npos);
}
TEST(Batch, OddShapes) {
  auto what =
      bad_row(R"({"id":"b","reference_code":"r","kernel_code":"k","input_shapes":{"x":{"shape":[-1]}}})")
          .what;
  EXPECT_NE(what.find("input_shapes"), std::string::npos);
}
TEST(Batch, AnOddDtype) {
  auto what =
      bad_row(
          R"({"id":"b","reference_code":"r","kernel_code":"k","input_shapes":{"x":{"shape":[1],"dtype":"odd"}}})")
          .what;
  EXPECT_NE(what.find("float32"), std::string::npos);
}
TEST(Batch, AHundredMegabytes) {
  EXPECT_NE(bad_row(std::string(100 << 20, '#')).what.find("long"), std::string::npos);
}
TEST(Batch, DeepNesting) {
  EXPECT_NE(bad_row(std::string(100000, '[')).what.find("JSON"), std::string::npos);
}
TEST(Batch, AByteOrderMarkIsNoPartOfTheFirstRow) {
  Folder folder;
  EXPECT_EQ(read(folder, "\xEF\xBB\xBF" + good).jobs.size(), 1U);
}
TEST(Batch, AnEmptyFile) {
  Folder folder;
  EXPECT_NE(read(folder, "").broken.find("no rows"), std::string::npos);
}
TEST(Batch, AFolder) {
  Folder folder;
  OpenOptions options;
  options.kind = InputKind::batch;
  EXPECT_NE(drain(open_source(folder.path(), options)).broken.find("directory"), std::string::npos);
}

}  // namespace
}  // namespace kw
