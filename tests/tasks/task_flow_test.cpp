#include "tasks/task_flow.h"

#include "task_world.h"

namespace kw {
namespace {

using testing::ElementsAre;
using Shares = std::map<int, std::size_t>;

TaskOrError task(const std::string& id) {
  TaskItem item;
  item.task.task_id = id;
  return item;
}

TaskSourcePtr tasks(const std::vector<std::string>& ids) {
  std::vector<TaskOrError> items;
  for (const std::string& id : ids)
    items.push_back(id == "bad" ? TaskOrError(RowError{"f", 1, "bad", ""}) : task(id));
  return task_list(std::move(items));
}

TaskYield sample(const std::vector<std::string>& ids, std::size_t count, std::uint64_t seed) {
  return drain_tasks(sample_tasks(*tasks(ids), count, seed));
}

TEST(EvenShares, SplitEvenlyAndGiveTheRestToTheFirst) {
  EXPECT_EQ(even_shares({{1, 9}, {2, 9}, {3, 9}}, 8), (Shares{{1, 3}, {2, 3}, {3, 2}}));
}
TEST(EvenShares, FillUpWhereALevelRunsShort) {
  EXPECT_EQ(even_shares({{1, 100}, {2, 100}, {3, 50}, {4, 20}}, 200),
            (Shares{{1, 65}, {2, 65}, {3, 50}, {4, 20}}));
}
TEST(EvenShares, AreAllWhereMoreIsAskedThanThereIs) {
  EXPECT_EQ(even_shares({{1, 2}, {2, 3}}, SIZE_MAX), (Shares{{1, 2}, {2, 3}}));
}

TEST(Occurrences, OfEqualTasksAreNumberedAcrossSources) {
  std::vector<TaskSourcePtr> sources;
  sources.push_back(number_occurrences(tasks({"a", "b", "a"})));
  sources.push_back(number_occurrences(tasks({"a", "c"})));
  TaskYield yield = drain_tasks(*number_occurrences(join(std::move(sources))));
  EXPECT_THAT(yield.ids(), ElementsAre("a", "b", "a", "a", "c"));
  EXPECT_THAT(yield.numbers(), ElementsAre(0, 0, 1, 2, 0));
}
TEST(Occurrences, KeepANumberThatIsFree) {
  TaskItem second;
  second.task.task_id = "a";
  second.sample_number = 1;
  std::vector<TaskOrError> items{second, task("a")};
  EXPECT_THAT(drain_tasks(*number_occurrences(task_list(items))).numbers(), ElementsAre(1, 0));
}

TEST(FirstTasks, DoNotCountBadRows) {
  TaskYield yield = drain_tasks(*first_tasks(tasks({"bad", "a", "bad", "b", "c"}), 2));
  EXPECT_THAT(yield.ids(), ElementsAre("a", "b"));
  EXPECT_EQ(yield.errors.size(), 2U);
}
TEST(FirstTasks, KnowTheirTotalWhereTheSourceDoes) {
  EXPECT_EQ(first_tasks(tasks({"a", "b", "c"}), 2)->total(), 2U);
}

// The order is part of what a run means: it must be the same on every machine and in every version.
TEST(RandomOrder, IsPinned) {
  EXPECT_THAT(sample({"a", "b", "c", "d", "e", "f"}, 6, 1).ids(), ElementsAre("d", "f", "c", "e", "a", "b"));
  EXPECT_EQ(random_rank(1, "a", 0), "c9e6e5558a06b01a");
}
TEST(RandomOrder, DiffersBySeed) {
  std::vector<std::string> ids{"a", "b", "c", "d", "e", "f", "g", "h"};
  EXPECT_NE(sample(ids, 8, 1).ids(), sample(ids, 8, 2).ids());
}
TEST(RandomOrder, DoesNotDependOnTheOrderOfTheSource) {
  EXPECT_EQ(sample({"a", "b", "c", "d"}, 4, 5).ids(), sample({"d", "c", "b", "a"}, 4, 5).ids());
}
TEST(RandomSample, OfMoreBeginsWithTheSampleOfLess) {
  std::vector<std::string> ids{"a", "b", "c", "d", "e", "f", "g", "h"};
  auto small = sample(ids, 3, 7).ids();
  auto large = sample(ids, 6, 7).ids();
  ASSERT_EQ(small.size(), 3U);
  EXPECT_EQ(small, std::vector<std::string>(large.begin(), large.begin() + 3));
}
TEST(RandomSample, HasBadRowsFirst) {
  TaskYield yield = sample({"a", "bad", "b"}, 1, 1);
  EXPECT_EQ(yield.items.size(), 1U);
  EXPECT_EQ(yield.errors.size(), 1U);
}
TEST(RandomSample, IsEven) {
  std::vector<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back("kernelbook/" + std::to_string(i));
  int low = 0;
  for (const std::string& id : sample(ids, 500, 3).ids()) low += std::stoi(id.substr(11)) < 500 ? 1 : 0;
  EXPECT_GT(low, 200);  // 250 expected, 8 the standard deviation
  EXPECT_LT(low, 300);
}

}  // namespace
}  // namespace kw
