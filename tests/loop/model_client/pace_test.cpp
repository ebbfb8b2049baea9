// The pace of requests.
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <thread>

#include "loop/model_client/retry.h"
#include "world.h"

namespace kw::llm {
namespace {

using namespace std::chrono_literals;

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
