#include "verify/judge/wrapping.h"

#include <gtest/gtest.h>

namespace kw::verify {
namespace {

TEST(SharesOfReference, AreNotKnownWithoutATime) {
  EXPECT_FALSE(shares_of_reference({}, {}));
  EXPECT_FALSE(shares_of_reference({{"k", "a", 8, 0}}, {{"k", "a", 8, 1}}));
}

TEST(SharesOfReference, KernelsOfOneCubinAreToldApart) {
  const auto shares =
      shares_of_reference({{"k", "a", 8, 3}, {"l", "a", 8, 1}}, {{"k", "a", 8, 3}, {"k", "a", 8, 1}});
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ(shares->by_library, 1);
  EXPECT_DOUBLE_EQ(shares->left_out, 0.25);
}

TEST(SharesOfReference, FewerBlocksLeaveOutAPart) {
  const auto shares = shares_of_reference({{"k", "a", 6, 3}, {"k", "a", 2, 1}}, {{"k", "a", 2, 2}});
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ(shares->by_library, 0.5);
  EXPECT_DOUBLE_EQ(shares->left_out, 0.75);
}

TEST(SharesOfReference, MoreBlocksLeaveOutNothing) {
  const auto shares = shares_of_reference({{"k", "a", 8, 4}}, {{"k", "a", 6, 3}, {"k", "a", 6, 3}});
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ(shares->left_out, 0);
  EXPECT_DOUBLE_EQ(shares->by_library, 1.5);
}

TEST(TimedLaunch, HasTheBlocksOfItsGrid) {
  wire::LaunchT launch;
  launch.grid = {4, 3, 2};
  EXPECT_DOUBLE_EQ(timed_launch(launch, 1).blocks, 24);
  launch.grid = {};
  EXPECT_DOUBLE_EQ(timed_launch(launch, 1).blocks, 1);
}

TEST(WrapsReference, NeedsBothShares) {
  EXPECT_TRUE(wraps_reference({.by_library = 0.95, .left_out = 0.049}));
  EXPECT_FALSE(wraps_reference({.by_library = 0.949, .left_out = 0}));
  EXPECT_FALSE(wraps_reference({.by_library = 1.2, .left_out = 0.05}));
}

}  // namespace
}  // namespace kw::verify
