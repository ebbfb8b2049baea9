#include "score/metrics/paired.h"

#include <gmock/gmock.h>

namespace kw::score {
namespace {

using testing::HasSubstr;

std::vector<Judged> judged(int both, int only_automatic, int only_person, int neither) {
  std::vector<Judged> list;
  for (int i = 0; i < both; ++i) list.push_back({true, true});
  for (int i = 0; i < only_automatic; ++i) list.push_back({true, false});
  for (int i = 0; i < only_person; ++i) list.push_back({false, true});
  for (int i = 0; i < neither; ++i) list.push_back({false, false});
  return list;
}

TEST(Kappa, IsTheHandComputedOne) {
  Agreement result = agreement(judged(20, 5, 10, 15));
  EXPECT_NEAR(*result.raw.value, 0.7, 1e-12);
  EXPECT_NEAR(result.expected, 0.5, 1e-12);
  EXPECT_NEAR(*result.kappa, 0.4, 1e-12);
  EXPECT_THAT(result.kappa_words, HasSubstr("fair"));
}

TEST(Kappa, IsOneWhereBothAlwaysAgreeOnBothKinds) {
  EXPECT_EQ(agreement(judged(3, 0, 0, 4)).kappa, 1);
}

TEST(Kappa, IsUnderZeroWhereTheyDisagreeMoreThanByChance) {
  Agreement result = agreement(judged(0, 5, 5, 0));
  EXPECT_EQ(result.kappa, -1);
  EXPECT_THAT(result.kappa_words, HasSubstr("none beyond chance"));
}

TEST(Kappa, IsUndefinedWhereBothSayOneWordThroughout) {
  Agreement result = agreement(judged(9, 0, 0, 0));
  EXPECT_EQ(result.raw.value, 1);
  EXPECT_FALSE(result.kappa);
  EXPECT_THAT(result.kappa_words, HasSubstr("one and the same judgement"));
}

TEST(Kappa, IsZeroWhereOneJudgeNeverVaries) {
  EXPECT_NEAR(*agreement(judged(7, 3, 0, 0)).kappa, 0, 1e-12);
}

TEST(Agreement, OfNothingIsUndefined) {
  Agreement result = agreement({});
  EXPECT_FALSE(result.raw.value);
  EXPECT_FALSE(result.kappa);
}

TEST(Agreement, CountsWhoSaidWhat) {
  Agreement result = agreement(judged(1, 2, 3, 4));
  EXPECT_EQ(result.only_automatic, 2U);
  EXPECT_EQ(result.only_person, 3U);
}

}  // namespace
}  // namespace kw::score
