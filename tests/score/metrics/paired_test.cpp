#include "score/metrics/paired.h"

#include <gmock/gmock.h>

#include <cmath>

#include "score_world.h"

namespace kw::score {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(McNemar, IsTheExactBinomialTail) {
  // Airway hyper-responsiveness before and after transplantation (Fagerland, Lydersen and Laake 2013).
  EXPECT_NEAR(mcnemar_p(1, 7), 0.0703125, 1e-12);
  EXPECT_NEAR(mcnemar_p(7, 1), 0.0703125, 1e-12);
  EXPECT_NEAR(mcnemar_p(0, 6), 0.03125, 1e-12);
}

TEST(McNemar, IsOneWhereNothingOrEquallyMuchDiffers) {
  EXPECT_EQ(mcnemar_p(0, 0), 1);
  EXPECT_EQ(mcnemar_p(5, 5), 1);
}

TEST(McNemar, OfThousandsOfTasksIsStillANumber) {
  EXPECT_NEAR(mcnemar_p(5'000, 5'000), 1, 1e-9);
  EXPECT_LT(mcnemar_p(0, 5'000), 1e-300);
}

// Newcombe 1998, "... based on paired data", table III, method 10; and the data above.
TEST(Newcombe, IsThePublishedInterval) {
  auto first = newcombe({.both = 36, .lost = 2, .gained = 12, .neither = 0});
  EXPECT_NEAR(first->low, 0.0569, 5e-5);
  EXPECT_NEAR(first->high, 0.3404, 5e-5);
  auto second = newcombe({.both = 1, .lost = 7, .gained = 1, .neither = 12});
  EXPECT_NEAR(second->low, -0.507, 5e-4);
  EXPECT_NEAR(second->high, -0.026, 5e-4);
}

TEST(Newcombe, OfNothingIsNothing) {
  EXPECT_FALSE(newcombe({}));
}

TEST(Newcombe, IsNoPointWhereNothingDiffers) {
  auto interval = newcombe({.both = 10, .lost = 0, .gained = 0, .neither = 0});
  EXPECT_LT(interval->low, -0.1);
  EXPECT_GT(interval->high, 0.1);
}

TEST(SignFlip, CountsAllFlipsOfAFew) {
  EXPECT_EQ(sign_flip_p({1, 1, 1, 1, 1, 1}), 2.0 / 64);
  EXPECT_EQ(sign_flip_p({0.3, -0.1, 0.2}), 0.5);  // ±0.6 and ±0.4 out of eight sums
}

TEST(SignFlip, PassesOverWhatDoesNotDiffer) {
  EXPECT_EQ(sign_flip_p({1, 0, 0, 0, 1}), sign_flip_p({1, 1}));
  EXPECT_EQ(sign_flip_p({0, 0}), 1);
  EXPECT_EQ(sign_flip_p({}), 1);
}

TEST(SignFlip, OfEqualSizesIsMcNemar) {
  EXPECT_NEAR(sign_flip_p({1, 1, 1, 1, 1, 1, 1, -1}), mcnemar_p(7, 1), 1e-12);
}

TEST(SignFlip, DrawsFlipsOfManyAndNeverSaysZero) {
  std::vector<double> all_better(40, 0.5);
  EXPECT_NEAR(sign_flip_p(all_better), 1.0 / 10'001, 1e-12);
  std::vector<double> both_ways(40, 0.5);
  for (std::size_t i = 0; i < 20; ++i) both_ways[i] = -0.5;
  EXPECT_EQ(sign_flip_p(both_ways), 1);
}

TEST(CompareRight, OfOneSampleATaskIsMcNemar) {
  Paired result = compare_right(tasks("0000000000110"), tasks("1111111100110"));
  EXPECT_EQ(result.method, "exact McNemar");
  EXPECT_EQ(result.gained, 8U);
  EXPECT_EQ(result.lost, 0U);
  EXPECT_NEAR(*result.p_value, 2.0 / 256, 1e-12);
  EXPECT_NEAR(*result.difference.value, 8.0 / 13, 1e-12);
  EXPECT_TRUE(result.significant);
  EXPECT_THAT(result.words, HasSubstr("Better after: 8 of 13 tasks better, 0 worse"));
}

TEST(CompareRight, SaysWhenTooFewTasksDifferToTell) {
  Paired result = compare_right(tasks("00000111"), tasks("11111111"));
  EXPECT_FALSE(result.enough);
  EXPECT_FALSE(result.significant);
  EXPECT_EQ(result.smallest_p, 2.0 / 32);
  EXPECT_THAT(result.words, HasSubstr("Too few differing tasks for a test: 5 of 8"));
}

TEST(CompareRight, DoesNotCallChanceADifference) {
  Paired result = compare_right(tasks("1111110000000"), tasks("0000001111111"));
  EXPECT_TRUE(result.enough);
  EXPECT_FALSE(result.significant);
  EXPECT_THAT(result.words, HasSubstr("No difference is shown"));
}

TEST(CompareRight, SaysWorseWhereItIsWorse) {
  EXPECT_THAT(compare_right(tasks("11111111"), tasks("00000000")).words, HasSubstr("Worse after"));
}

TEST(CompareRight, OfSeveralSamplesFlipsSigns) {
  std::vector<TaskSamples> before, after;
  for (int i = 0; i < 12; ++i) {
    before.push_back(task(std::to_string(i), 4, 1));
    after.push_back(task(std::to_string(i), 4, static_cast<std::size_t>(2 + i % 2)));
  }
  Paired result = compare_right(before, after);
  EXPECT_EQ(result.method, "sign-flip permutation");
  EXPECT_EQ(*result.p_value, 2.0 / 4096);
  EXPECT_NEAR(*result.difference.value, 0.375, 1e-12);
  EXPECT_GT(result.difference.interval->low, 0.25);
}

TEST(CompareRight, ComparesOnlyTasksThatBothSidesHave) {
  Paired result = compare_right({task("a", 1, 1), task("b", 1, 0)}, {task("b", 1, 1), task("c", 1, 1)});
  EXPECT_EQ(result.tasks, 1U);
  EXPECT_THAT(result.only_before, ElementsAre("a"));
  EXPECT_THAT(result.only_after, ElementsAre("c"));
  EXPECT_EQ(result.before, 0);
  EXPECT_EQ(result.after, 1);
}

TEST(CompareRight, OfNothingInCommonSaysSo) {
  Paired result = compare_right({task("a", 1, 1)}, {task("b", 1, 1)});
  EXPECT_FALSE(result.p_value);
  EXPECT_FALSE(result.difference.value);
  EXPECT_THAT(result.words, HasSubstr("nothing to compare"));
}

// Six tasks that all gain would look like a share of 1 to an interval of shares.
TEST(CompareValues, DoesNotTakeDifferencesOfOneForShares) {
  std::vector<TaskValue> before, after;
  for (int i = 0; i < 6; ++i) {
    before.push_back({std::to_string(i), 0});
    after.push_back({std::to_string(i), 1});
  }
  Paired result = compare_values(before, after);
  EXPECT_EQ(result.difference.value, 1);
  EXPECT_NE(result.difference.method, "Wilson");
}

TEST(CompareValues, LeavesOutWhatIsNotFinite) {
  EXPECT_EQ(compare_values({{"a", std::nan("")}, {"b", 1}}, {{"a", 1}, {"b", 2}}).tasks, 1U);
}

TEST(LogSpeedups, GiveTheFactorOnTasksThatBothHaveRight) {
  Paired result = compare_values(log_speedups({task("a", 1, 1, {1}), task("b", 1, 1, {2})}),
                                 log_speedups({task("a", 1, 1, {2}), task("b", 1, 1, {4}), task("c", 1, 0)}));
  EXPECT_EQ(result.tasks, 2U);
  EXPECT_NEAR(std::exp(*result.difference.value), 2, 1e-12);
}

}  // namespace
}  // namespace kw::score
