#include "task_world.h"

namespace kw {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const char* inputs = "def get_inputs(): return []\n";
const char* shapes = R"({"x": {"shape": [4], "dtype": "float32"}})";

TEST(References, OfAFolderAreNamedByTheirFiles) {
  Folder folder;
  folder.write("relu.py", inputs);
  folder.write("norms/layer.py", std::string(inputs) + "#");
  Yield yield = tasks_at(folder.path());
  EXPECT_THAT(yield.keys(), ElementsAre("relu", "norms/layer"));
  EXPECT_EQ(yield.jobs[1].task.name, "layer");
  EXPECT_EQ(yield.task_ids()[0], hashed_task_id(inputs, ""));
}
TEST(References, HaveTheShapesBesideThem) {
  Folder folder;
  folder.write("add.py", "def reference_impl(x): return x");
  folder.write("add.shapes.json", std::string(shapes) + "\n");
  Yield yield = tasks_at(folder.path());
  ASSERT_EQ(yield.jobs.size(), 1U);
  EXPECT_EQ(yield.jobs[0].task.input_shapes, shapes);
}
TEST(References, OfAFolderOfPairsAreItsReferencesAlone) {
  EXPECT_THAT(tasks_at(source_file("examples/pair")).keys(),
              UnorderedElementsAre("reference", "scale_add_reference"));
}
TEST(References, PassOverModulesWithoutInputs) {
  Folder folder;
  folder.write("relu.py", inputs);
  folder.write("helpers.py", "def twice(x): return x + x");
  folder.write("__init__.py", inputs);
  EXPECT_THAT(tasks_at(folder.path()).keys(), ElementsAre("relu"));
}
TEST(References, WithBrokenShapesDoNotStopOthers) {
  Folder folder;
  folder.write("a.py", "x");
  folder.write("a.shapes.json", "{");
  folder.write("b.py", inputs);
  Yield yield = tasks_at(folder.path());
  EXPECT_THAT(yield.keys(), ElementsAre("b"));
  ASSERT_EQ(yield.errors.size(), 1U);
  EXPECT_THAT(yield.errors[0].what, HasSubstr("a.shapes.json"));
}
TEST(References, MayBeOneFile) {
  Folder folder;
  Yield yield = tasks_at(folder.write("relu.py", inputs));
  EXPECT_THAT(yield.keys(), ElementsAre("relu"));
}
TEST(References, OfOneFileWithoutInputsSayWhatToWrite) {
  Folder folder;
  Yield yield = tasks_at(folder.write("relu.py", "x"));
  EXPECT_THAT(yield.remedy, HasSubstr("relu.shapes.json"));
}
TEST(References, ThatAreEqualAreNumbered) {
  Folder folder;
  folder.write("a.py", inputs);
  folder.write("b.py", inputs);
  EXPECT_THAT(tasks_at(folder.path()).numbers(), ElementsAre(0, 1));
}
TEST(References, OfTheSampleAreAllThere) {
  Yield yield = tasks_at(source_file("examples/sample/tasks"));
  EXPECT_THAT(yield.errors, IsEmpty());
  std::vector<std::string> keys = yield.keys();
  EXPECT_THAT(keys, testing::IsSupersetOf({"rowsum", "conv2d", "bf16_residual"}));
}
TEST(References, AFolderWithoutTasksSaysWhatIsExpected) {
  Folder folder;
  folder.write("notes.txt", "");
  EXPECT_THAT(tasks_at(folder.path()).remedy, HasSubstr("get_inputs"));
}

}  // namespace
}  // namespace kw
