// The time for which a client waits when a server is busy.
#include "base/http/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace kw::http {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, StaysWithinItsGrowingBound) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    Backoff backoff({.first = 100ms, .most = 1000ms});
    for (long bound : {100, 200, 400, 800, 1000, 1000}) {
      auto wait = backoff.next({}, random);
      ASSERT_GE(wait.count(), 0);
      ASSERT_LE(wait.count(), bound);
    }
  }
}

TEST(Backoff, IsJittered) {
  std::mt19937_64 random(1);
  std::vector<long> waits;
  for (int i = 0; i < 50; ++i)
    waits.push_back(Backoff({.first = 1000ms, .most = 1000ms}).next({}, random).count());
  auto [least, most] = std::ranges::minmax_element(waits);
  EXPECT_LT(*least, 300);
  EXPECT_GT(*most, 700);
}

TEST(Backoff, KeepsWhatTheServerWishesWithinReason) {
  std::mt19937_64 random(1);
  Backoff backoff({.first = 10ms, .most = 1000ms});
  auto wait = backoff.next(700ms, random);
  EXPECT_GE(wait, 700ms);
  EXPECT_LE(wait, 710ms);
  EXPECT_LE(backoff.next(24h, random), 4010ms);
}

TEST(RetryAfter, IsSecondsOrADate) {
  auto now = std::chrono::system_clock::from_time_t(784111777);  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(retry_after({{"Retry-After", "3"}}, now), 3000ms);
  EXPECT_EQ(retry_after({{"retry-after", " 0.5 "}}, now), 500ms);
  EXPECT_EQ(retry_after({{"retry-after-ms", "20"}, {"retry-after", "9"}}, now), 20ms);
  EXPECT_EQ(retry_after({{"Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT"}}, now), 10s);
  EXPECT_EQ(retry_after({{"Retry-After", "Sun, 06 Nov 1994 08:00:00 GMT"}}, now), 0ms);
}

TEST(RetryAfter, NonsenseIsNothing) {
  for (const char* value : {"soon", "-3", "", "nan", "Someday, 99 Foo 1994"})
    EXPECT_EQ(retry_after({{"Retry-After", value}}, {}), std::nullopt) << value;
}

}  // namespace
}  // namespace kw::http
