#include "base/core/counted.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Grouped, HasACommaForEachThousand) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
}

TEST(Counted, HasTheSingularForOneAlone) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(1'234, "row"), "1,234 rows");
}

TEST(Counted, TakesAPluralAndAVerb) {
  EXPECT_EQ(counted(1, "launch", "launches"), "1 launch");
  EXPECT_EQ(counted(2, "launch", "launches"), "2 launches");
  EXPECT_EQ(counted(2, "row is", "rows are"), "2 rows are");
}

}  // namespace
}  // namespace kw
