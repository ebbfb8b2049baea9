// The tasks of a source, which is read when they are first needed.
#include "mcp/task_tools.h"

#include <atomic>

#include "mcp_world.h"

namespace kw::mcp::test {
namespace {

using testing::HasSubstr;

Job task(const std::string& id, const std::string& name) {
  Job job;
  job.task.task_id = id;
  job.task.sample_key = name;
  job.task.name = name;
  job.task.source = "sample";
  job.task.reference_code = fmt::format("# {}\n{}", name, reference);
  return job;
}

// A source with softmax, relu and a bad row.
struct Tasks {
  std::atomic<int> opened = 0;
  std::atomic<bool> is_broken = false;
  World world;
  TaskCatalog catalog{
      world.loop, [this]() -> Result<SourcePtr> {
        ++opened;
        if (is_broken) return fail("cannot read tasks.jsonl", "give another file");
        return job_list({task("t/1", "softmax"), RowError{"tasks.jsonl", 2, "no reference", ""},
                         task("t/1", "softmax"), task("t/2", "relu")});
      }};
  Tasks() {
    world.tasks = &catalog;
    world.restart();
  }
};

TEST(ListTasks, ListsEachOnce) {
  Tasks tasks;
  EXPECT_EQ(tasks.opened, 0);
  json::object result = tasks.world.call("list_tasks");
  EXPECT_EQ(field(result, "total"), 2);
  EXPECT_EQ(field(result, "next_offset"), nullptr);
  EXPECT_EQ(field(result, "tasks").at(1).at("key"), "relu");
  EXPECT_THAT(text_of(result), HasSubstr("1 row of the source is left out"));
  tasks.world.call("list_tasks");
  EXPECT_EQ(tasks.opened, 1);
}

TEST(ListTasks, FiltersAndPages) {
  Tasks tasks;
  EXPECT_EQ(field(tasks.world.call("list_tasks", {{"filter", "RELU"}}), "total"), 1);
  json::object first = tasks.world.call("list_tasks", {{"limit", 1}});
  EXPECT_EQ(field(first, "next_offset"), 1);
  json::object second = tasks.world.call("list_tasks", {{"limit", 1}, {"offset", 1}});
  EXPECT_EQ(field(second, "tasks").at(0).at("task_id"), "t/2");
  EXPECT_EQ(field(second, "next_offset"), nullptr);
  EXPECT_EQ(field(tasks.world.call("list_tasks", {{"offset", 9}}), "next_offset"), nullptr);
  EXPECT_TRUE(is_error(tasks.world.call("list_tasks", {{"limit", 201}})));
  EXPECT_TRUE(is_error(tasks.world.call("list_tasks", {{"offset", -1}})));
}

TEST(GetTask, HasThePromptOfRun) {
  Tasks tasks;
  json::object result = tasks.world.call("get_task", {{"task_id", "softmax"}});
  EXPECT_THAT(text_of(result), HasSubstr("with `triton_kernel_wrapper`"));
  EXPECT_EQ(field(result, "task_id"), "t/1");
  json::object with_rules = tasks.world.call("get_task", {{"task_id", "t/1"}, {"rules", true}});
  EXPECT_GT(text_of(with_rules).size(), text_of(result).size() + 1'000);
}

TEST(GetTask, SuggestsTheNearestName) {
  Tasks tasks;
  json::object result = tasks.world.call("get_task", {{"task_id", "sofmax"}});
  EXPECT_TRUE(is_error(result));
  EXPECT_THAT(text_of(result), HasSubstr("did you mean softmax?"));
}

TEST(Verify, JudgesATask) {
  Tasks tasks;
  json::object result = tasks.world.call("verify", {{"task_id", "relu"}, {"kernel", kernel}});
  EXPECT_EQ(field(result, "task_id"), "t/2");
  EXPECT_THAT(tasks.world.verifier.judged.at(0).task.reference_code, HasSubstr("# relu"));
  json::object both = pair();
  both["task_id"] = "relu";
  EXPECT_THAT(text_of(tasks.world.call("verify", both)), HasSubstr("beside `task_id`"));
}

TEST(BrokenSource, IsReadAgainByTheNextCall) {
  Tasks tasks;
  tasks.is_broken = true;
  EXPECT_THAT(text_of(tasks.world.call("list_tasks")),
              HasSubstr("cannot read tasks.jsonl\nhelp: give another file"));
  tasks.is_broken = false;
  EXPECT_EQ(field(tasks.world.call("list_tasks"), "total"), 2);
}

}  // namespace
}  // namespace kw::mcp::test
