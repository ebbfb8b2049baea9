#include "loop/tasks/formats.h"

#include <gtest/gtest.h>

#include "task_world.h"

namespace kw {
namespace {

Result<InputKind> kind(const std::string& name, const std::string& text) {
  Folder folder;
  return recognise(folder.write(name, text), Wanted::kernels, {});
}

TEST(Recognise, Traces) {
  EXPECT_EQ(kind("t.json", R"([{"sample_key":"a","pytorch_code":"r"}])"), InputKind::traces);
}
TEST(Recognise, ABatch) {
  EXPECT_EQ(kind("b.jsonl", R"({"id":1,"kernel_path":"k"})"), InputKind::batch);
}
TEST(Recognise, ABatchWithABadFirstRow) {
  EXPECT_EQ(kind("b.jsonl", "oops\n{\"id\":1,\"kernel_path\":\"k\"}"), InputKind::batch);
}
TEST(Recognise, KernelBook) {
  EXPECT_EQ(kind("b.jsonl", R"({"python_code":"","triton_code":""})"), InputKind::kernelbook);
}
TEST(Recognise, KernelBenchTasks) {
  EXPECT_EQ(kind("b.jsonl", R"({"code":"","problem_id":1})"), InputKind::kernelbench_table);
}
TEST(Recognise, ASource) {
  EXPECT_EQ(kind("k.py", ""), InputKind::source);
}
TEST(Recognise, AForeignFileIsNamedWithWhatIsExpected) {
  auto foreign = kind("x.json", R"([{"prompt":"x"}])");
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().what.find("x.json"), std::string::npos);
  EXPECT_NE(foreign.error().remedy.find("recorded traces"), std::string::npos);
}
TEST(Recognise, AMissingFile) {
  EXPECT_FALSE(recognise("/nowhere/at/all.json", Wanted::kernels, {}));
}
TEST(Recognise, AFolderOfNothing) {
  Folder folder;
  auto nothing = recognise(folder.path(), Wanted::kernels, {});
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().what.find("nothing"), std::string::npos);
}
TEST(Recognise, TheExamplesPairs) {
  EXPECT_EQ(recognise(source_file("examples/pair"), Wanted::kernels, {}), InputKind::pairs);
}

}  // namespace
}  // namespace kw
