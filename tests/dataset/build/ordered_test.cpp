#include "dataset/build/ordered.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

namespace {

using kw::dataset::Ordered;

TEST(Ordered, GivesResultsInTheOrderOfTheInput) {
  std::vector<int> results;
  Ordered<int, int> pool(
      4,
      [](int n) {
        std::this_thread::sleep_for(std::chrono::microseconds(n % 7 * 200));
        return n * n;
      },
      [&](int n) { results.push_back(n); });
  for (int i = 0; i < 200; ++i) pool.push(i);
  pool.finish();
  ASSERT_EQ(results.size(), 200U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)], i * i);
}

TEST(Ordered, ConsumesInThePushingThread) {
  auto here = std::this_thread::get_id();
  Ordered<int, int> pool(
      3, [](int n) { return n; }, [&](int) { EXPECT_EQ(std::this_thread::get_id(), here); });
  for (int i = 0; i < 50; ++i) pool.push(i);
  pool.finish();
}

TEST(Ordered, HoldsFewThingsAtOnce) {
  int consumed = 0;
  Ordered<int, int> pool(2, [](int n) { return n; }, [&](int) { ++consumed; });
  for (int i = 0; i < 100; ++i) pool.push(i);
  EXPECT_GE(consumed, 100 - 16);
  pool.finish();
}

TEST(Ordered, ThrowsWhatTheWorkThrows) {
  Ordered<int, int> pool(
      2,
      [](int n) {
        if (n == 3) throw std::runtime_error("three");
        return n;
      },
      [](int) {});
  auto all = [&] {
    for (int i = 0; i < 10; ++i) pool.push(i);
    pool.finish();
  };
  EXPECT_THROW(all(), std::runtime_error);
}

TEST(Ordered, ItsEndDropsWorkThatHasNotBegun) {
  std::atomic<int> begun = 0;
  int consumed = 0;
  {
    Ordered<int, int> pool(
        2,
        [&](int n) {
          ++begun;
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          return n;
        },
        [&](int) { ++consumed; });
    for (int i = 0; i < 10; ++i) pool.push(i);
  }
  EXPECT_LT(begun, 10);
  EXPECT_EQ(consumed, 0);
}

}  // namespace
