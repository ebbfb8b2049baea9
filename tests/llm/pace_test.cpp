// Back-off and the gate.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <thread>

#include "llm/backoff.h"
#include "llm/gate.h"
#include "world.h"

namespace kw::llm {
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

TEST(Gate, LetsInAsManyAsAllowedInOrder) {
  async::Loop loop;
  Gate gate(loop, 2);
  std::vector<int> order;
  std::vector<Slot> held;
  auto enter = [](Gate& at, int number, std::vector<int>& done, std::vector<Slot>& slots) -> async::Task<> {
    Slot slot = co_await at.enter(at.ticket(), nullptr);
    done.push_back(number);
    slots.push_back(std::move(slot));
  };
  for (int i = 0; i < 4; ++i)
    boost::asio::co_spawn(loop, enter(gate, i, order, held), [](std::exception_ptr) {});
  loop.poll();
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
  held.erase(held.begin());
  loop.restart();
  loop.poll();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  held.clear();
  loop.restart();
  loop.poll();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  held.clear();
}

async::Task<bool> got_slot(Gate& gate, async::Stop& stop) {
  Slot slot = co_await gate.enter(gate.ticket(), &stop);
  co_return static_cast<bool>(slot);
}

TEST(Gate, AStopEndsTheWaitAndLosesNoSlot) {
  async::Loop loop;
  async::Stop stop(loop);
  async::Stop other(loop);
  Gate gate(loop, 1);
  auto held = std::make_unique<Slot>(test::run(loop, gate.enter(gate.ticket(), nullptr)));
  boost::asio::post(loop, [&] { stop.request("enough"); });
  EXPECT_FALSE(test::run(loop, got_slot(gate, stop)));
  held.reset();
  EXPECT_TRUE(test::run(loop, got_slot(gate, other)));
}

TEST(Gate, OverloadHalvesOnceAWindow) {
  async::Loop loop;
  Gate gate(loop, 10, 50ms);
  gate.overloaded();
  gate.overloaded();
  EXPECT_EQ(gate.allowed(), 5U);
  std::this_thread::sleep_for(60ms);
  gate.overloaded();
  EXPECT_EQ(gate.allowed(), 2U);
}

TEST(Gate, NeverClosesAndGrowsBackByOne) {
  async::Loop loop;
  Gate gate(loop, 4, 0ms);
  for (int i = 0; i < 5; ++i) gate.overloaded();
  EXPECT_EQ(gate.allowed(), 1U);
  gate.succeeded();
  EXPECT_EQ(gate.allowed(), 2U);
  gate.succeeded();
  EXPECT_EQ(gate.allowed(), 2U);
  gate.succeeded();
  EXPECT_EQ(gate.allowed(), 3U);
  for (int i = 0; i < 100; ++i) gate.succeeded();
  EXPECT_EQ(gate.allowed(), 4U);
}

}  // namespace
}  // namespace kw::llm
