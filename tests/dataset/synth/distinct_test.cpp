#include "dataset/synth/distinct.h"

#include <gmock/gmock.h>

#include <string>

namespace kw::synth {
namespace {

std::string lines(int first, int last) {
  std::string text;
  for (int i = first; i < last; ++i)
    text += "value" + std::to_string(i) + " = other" + std::to_string(i) + "\n";
  return text;
}

TEST(Distinct, AnEqualTextIsSimilarToTheFirst) {
  Distinct distinct({});
  EXPECT_FALSE(distinct.add(7, lines(0, 20)));
  auto similar = distinct.add(9, lines(0, 20));
  ASSERT_TRUE(similar);
  EXPECT_EQ(similar->number, 7U);
  EXPECT_EQ(similar->jaccard, 1.0);
}

TEST(Distinct, ATextWithOneOtherLineIsSimilar) {
  Distinct distinct({});
  EXPECT_FALSE(distinct.add(0, lines(0, 40)));
  EXPECT_TRUE(distinct.add(1, lines(0, 40) + "last = 1\n"));
}

TEST(Distinct, HalfOfATextIsNotSimilar) {
  Distinct distinct({});
  EXPECT_FALSE(distinct.add(0, lines(0, 40)));
  EXPECT_FALSE(distinct.add(1, lines(20, 60)));
}

TEST(Distinct, ADroppedTextDropsNoOthers) {
  near::Parameters parameters;
  parameters.threshold = 0.6;
  Distinct distinct(parameters);
  EXPECT_FALSE(distinct.add(0, lines(0, 40)));
  EXPECT_TRUE(distinct.add(1, lines(6, 46)));    // 34 of 46 lines with the first
  EXPECT_FALSE(distinct.add(2, lines(12, 52)));  // 28 of 52 with the first, 34 of 46 with the dropped one
}

}  // namespace
}  // namespace kw::synth
