#include "score/metrics/intervals.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace kw::score {
namespace {

using testing::HasSubstr;

TEST(Generator, GivesTheNumbersOfTheReferenceAlgorithm) {
  Generator generator(42);
  EXPECT_EQ(generator.next(), 1546998764402558742U);
  EXPECT_EQ(generator.next(), 6990951692964543102U);
}

TEST(Generator, DrawsEachNumberAboutEquallyOften) {
  Generator generator(7);
  std::vector<int> times(6);
  for (int i = 0; i < 60'000; ++i) ++times.at(generator.below(6));
  for (int one : times) EXPECT_NEAR(one, 10'000, 400);
}

TEST(Generator, ShufflesWithoutLosingAnything) {
  Generator generator(1);
  std::vector<int> numbers = {1, 2, 3, 4, 5, 6, 7, 8};
  generator.shuffle(numbers);
  EXPECT_THAT(numbers, testing::UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_NE(numbers, (std::vector{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(NormalQuantile, IsThatOfTheTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-13);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167814, 1e-12);
}

struct Published {
  std::size_t hits, of;
  double low, high;
};

class WilsonTable : public testing::TestWithParam<Published> {};

// Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3.
INSTANTIATE_TEST_SUITE_P(Newcombe, WilsonTable,
                         testing::Values(Published{81, 263, 0.2553, 0.3662},
                                         Published{15, 148, 0.0624, 0.1605}, Published{0, 20, 0.0000, 0.1611},
                                         Published{1, 29, 0.0061, 0.1718}));

TEST_P(WilsonTable, IsThePublishedOne) {
  auto interval = wilson(GetParam().hits, GetParam().of);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, GetParam().low, 5e-5);
  EXPECT_NEAR(interval->high, GetParam().high, 5e-5);
}

TEST(Wilson, NeedsSomethingToTakeAShareOf) {
  EXPECT_FALSE(wilson(0, 0));
  EXPECT_FALSE(wilson(3, 2));
}

TEST(Wilson, EndsAtOneWhereAllHit) {
  auto interval = wilson(20, 20);
  EXPECT_EQ(interval->high, 1);
  EXPECT_NEAR(interval->low, 1 - 0.1611, 5e-5);
}

TEST(Wilson, HoldsTheShareAndStaysWithinZeroAndOne) {
  for (std::size_t of = 1; of <= 40; ++of)
    for (std::size_t hits = 0; hits <= of; ++hits) {
      auto interval = wilson(hits, of);
      double value = static_cast<double>(hits) / static_cast<double>(of);
      EXPECT_LE(0, interval->low);
      EXPECT_LE(interval->low, value);
      EXPECT_LE(value, interval->high);
      EXPECT_LE(interval->high, 1);
    }
}

TEST(Bootstrap, IsAboutTheNormalIntervalForManyTasks) {
  std::vector<double> values;
  for (int i = 0; i < 400; ++i) values.push_back((i % 4) / 3.0);
  Estimate estimate = bootstrap_mean(values);
  // Values 0, 1/3, 2/3, 1 equally often: standard deviation 0.3727, of the mean 0.01863.
  EXPECT_NEAR(*estimate.value, 0.5, 1e-12);
  EXPECT_NEAR(estimate.interval->low, 0.5 - 1.96 * 0.01863, 0.002);
  EXPECT_NEAR(estimate.interval->high, 0.5 + 1.96 * 0.01863, 0.002);
}

TEST(Bootstrap, IsTheSameForTheSameSeed) {
  std::vector<double> values = {0.1, 0.9, 0.4, 0.4, 0.2};
  EXPECT_EQ(bootstrap_mean(values).interval->low, bootstrap_mean(values).interval->low);
  EXPECT_NE(bootstrap_mean(values).interval->low,
            bootstrap_mean(values, {.resamples = 500, .seed = 8}).interval->low);
}

TEST(Bootstrap, SaysThatFewTasksMakeItTooNarrow) {
  EXPECT_THAT(bootstrap_mean({0.1, 0.9, 0.4}).why, HasSubstr("only 3 tasks"));
}

TEST(Bootstrap, HasNoIntervalWhereAllValuesAreAlike) {
  Estimate estimate = bootstrap_mean({0.5, 0.5, 0.5});
  EXPECT_EQ(estimate.value, 0.5);
  EXPECT_FALSE(estimate.interval);
  EXPECT_THAT(estimate.why, HasSubstr("same value"));
}

TEST(Bootstrap, HasNoValueWithoutTasks) {
  EXPECT_FALSE(bootstrap_mean({}).value);
  EXPECT_FALSE(mean_over_tasks({}).value);
}

TEST(Bootstrap, HasNoValueWhereOneIsNotFinite) {
  EXPECT_FALSE(bootstrap_mean({0.5, std::nan("")}).value);
  EXPECT_FALSE(mean_over_tasks({1, std::numeric_limits<double>::infinity()}).value);
}

TEST(MeanOverTasks, OfZerosAndOnesIsAShareWithWilsonsInterval) {
  Estimate all = mean_over_tasks({1, 1, 1, 1});
  EXPECT_EQ(all.method, "Wilson");
  EXPECT_EQ(all.value, 1);
  EXPECT_LT(all.interval->low, 0.6);
}

TEST(GeometricMean, IsTheRootOfTheProduct) {
  EXPECT_NEAR(*geometric_mean_over_tasks({1, 4, 16}).value, 4, 1e-12);
}

// Their logarithms are 0 and 1, but they are not shares.
TEST(GeometricMean, OfOneAndEIsNoShare) {
  EXPECT_NE(geometric_mean_over_tasks({1, std::exp(1.0)}).method, "Wilson");
}

TEST(GeometricMean, HasNoValueForWhatHasNoLogarithm) {
  EXPECT_FALSE(geometric_mean_over_tasks({1, 0}).value);
  EXPECT_FALSE(geometric_mean_over_tasks({1, -2}).value);
}

}  // namespace
}  // namespace kw::score
