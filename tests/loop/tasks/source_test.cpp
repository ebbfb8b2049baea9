#include "loop/tasks/source.h"

#include "task_world.h"

namespace kw {
namespace {

using testing::ElementsAre;
using Shares = std::map<int, std::size_t>;

JobOrError task(const std::string& id) {
  Job item;
  item.task.task_id = id;
  return item;
}

SourcePtr tasks(const std::vector<std::string>& ids) {
  std::vector<JobOrError> items;
  for (const std::string& id : ids)
    items.push_back(id == "bad" ? JobOrError(RowError{"f", 1, "bad", ""}) : task(id));
  return job_list(std::move(items));
}

Yield sample(const std::vector<std::string>& ids, std::size_t count, std::uint64_t seed) {
  return drain(sample_jobs(*tasks(ids), count, seed));
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
  std::vector<SourcePtr> sources;
  sources.push_back(number_occurrences(tasks({"a", "b", "a"})));
  sources.push_back(number_occurrences(tasks({"a", "c"})));
  Yield yield = drain(*number_occurrences(join(std::move(sources))));
  EXPECT_THAT(yield.task_ids(), ElementsAre("a", "b", "a", "a", "c"));
  EXPECT_THAT(yield.numbers(), ElementsAre(0, 0, 1, 2, 0));
}
TEST(Occurrences, KeepANumberThatIsFree) {
  Job second;
  second.task.task_id = "a";
  second.sample_number = 1;
  std::vector<JobOrError> items{second, task("a")};
  EXPECT_THAT(drain(*number_occurrences(job_list(items))).numbers(), ElementsAre(1, 0));
}

TEST(FirstJobs, MayPassBadRowsUncounted) {
  Yield yield = drain(*first_jobs(tasks({"bad", "a", "bad", "b", "c"}), 2, BadRows::not_counted));
  EXPECT_THAT(yield.task_ids(), ElementsAre("a", "b"));
  EXPECT_EQ(yield.errors.size(), 2U);
}
TEST(FirstJobs, MayCountBadRows) {
  Yield yield = drain(*first_jobs(tasks({"bad", "a", "b"}), 2, BadRows::counted));
  EXPECT_THAT(yield.task_ids(), ElementsAre("a"));
  EXPECT_EQ(yield.errors.size(), 1U);
}
TEST(FirstJobs, KnowTheirTotalWhereTheSourceDoes) {
  EXPECT_EQ(first_jobs(tasks({"a", "b", "c"}), 2, BadRows::not_counted)->total(), 2U);
}

// The order is part of a run's definition: it must be equal on every machine and in every version.
TEST(RandomOrder, IsPinned) {
  EXPECT_THAT(sample({"a", "b", "c", "d", "e", "f"}, 6, 1).task_ids(),
              ElementsAre("d", "f", "c", "e", "a", "b"));
  EXPECT_EQ(random_rank(1, "a", 0), "c9e6e5558a06b01a");
}
TEST(RandomOrder, DiffersBySeed) {
  std::vector<std::string> ids{"a", "b", "c", "d", "e", "f", "g", "h"};
  EXPECT_NE(sample(ids, 8, 1).task_ids(), sample(ids, 8, 2).task_ids());
}
TEST(RandomOrder, DoesNotDependOnTheOrderOfTheSource) {
  EXPECT_EQ(sample({"a", "b", "c", "d"}, 4, 5).task_ids(), sample({"d", "c", "b", "a"}, 4, 5).task_ids());
}
TEST(RandomSample, OfMoreBeginsWithTheSampleOfLess) {
  std::vector<std::string> ids{"a", "b", "c", "d", "e", "f", "g", "h"};
  auto small = sample(ids, 3, 7).task_ids();
  auto large = sample(ids, 6, 7).task_ids();
  ASSERT_EQ(small.size(), 3U);
  EXPECT_EQ(small, std::vector<std::string>(large.begin(), large.begin() + 3));
}
TEST(RandomSample, HasBadRowsFirst) {
  Yield yield = sample({"a", "bad", "b"}, 1, 1);
  EXPECT_EQ(yield.jobs.size(), 1U);
  EXPECT_EQ(yield.errors.size(), 1U);
}
TEST(RandomSample, IsEven) {
  std::vector<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back("kernelbook/" + std::to_string(i));
  int low = 0;
  for (const std::string& id : sample(ids, 500, 3).task_ids()) low += std::stoi(id.substr(11)) < 500 ? 1 : 0;
  EXPECT_GT(low, 200);  // 250 expected, standard deviation 8
  EXPECT_LT(low, 300);
}

}  // namespace
}  // namespace kw
